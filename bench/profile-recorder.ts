/**
 * Loaded into a server before its program. SIGUSR2 begins to sample what its time and its memory are used for, and the
 * next one writes both profiles to the file that `PROFILES_FILE` names. It costs nothing while it does not sample.
 */
import { renameSync, writeFileSync } from "node:fs";
import { type HeapProfiler, type Profiler, Session } from "node:inspector/promises";

/** What was sampled. */
export interface Profiles {
  readonly time: Profiler.Profile;
  readonly memory: HeapProfiler.SamplingHeapProfile;
}

const file = process.env.PROFILES_FILE!;
const sampleUs = 200;
const sampleBytes = 2048;
let session: Session | undefined;

process.on("SIGUSR2", async () => {
  if (session === undefined) {
    session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: sampleUs });
    await session.post("HeapProfiler.startSampling", {
      samplingInterval: sampleBytes,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    } as HeapProfiler.StartSamplingParameterType); // whose type lacks the latter two
    await session.post("Profiler.start");
    return;
  }
  const { profile: time } = await session.post("Profiler.stop");
  const { profile: memory } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  session = undefined;
  writeFileSync(`${file}.part`, JSON.stringify({ time, memory } satisfies Profiles));
  renameSync(`${file}.part`, file);
});
