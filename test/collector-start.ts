/** A program that starts as a server does, then makes old garbage, and says how many full collections that took. `unlimited`: without the limits of a server. */
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { prepareCollector, shortenPauses } from "../src/collector.ts";

const megabyte = 1024 * 1024;
const objectsPerMegabyte = megabyte / 100;
const newObject = (i: number) => ({ a: i, b: [i, i + 0.5, i + 0.25] });

/** So much at a time is in use. Each turn of the event loop replaces some of it. */
async function replace(megabytesInUse: number, megabytes: number): Promise<object[]> {
  const inUse: object[] = [];
  for (let i = 0; i < megabytes * objectsPerMegabyte; i++) {
    inUse[i % (megabytesInUse * objectsPerMegabyte)] = newObject(i);
    if (i % 10_000 === 0) await turn();
  }
  return inUse;
}

prepareCollector();
const started = await replace(30, 90);
if (process.argv[2] !== "unlimited") shortenPauses();
let collections = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if ((entry as PerformanceEntry & { detail: { kind: number } }).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)
      collections++;
  }
});
observer.observe({ entryTypes: ["gc"] });
const working = await replace(5, 60);
await turn();
process.stdout.write(JSON.stringify({ collections, isHeld: started.length > 0 && working.length > 0 }));
process.exit(0);
