/**
 * A soak test: overloads the server with all kinds of requests for minutes, and samples its health every half minute.
 * Its memory must not grow after the warm-up, and its event loop must not stall for long. This process is idle
 * meanwhile and serves as a reference: a stall of both processes at the same time is attributed to the machine.
 */
import type { Job, Measured } from "./load.ts";
import { emptyLogs } from "./processes.ts";
import { type RequestName, requests } from "./requests.ts";
import type { Platform } from "./servers.ts";
import { lengthOf, ownLengthOf, watchStalls } from "./stalls.ts";
import { round2 } from "./table.ts";

/** Concurrent requests of each kind. */
const mix: Partial<Record<RequestName, number>> = {
  "rest.get": 12,
  "rest.list50": 4,
  "rest.create": 4,
  "grpc.get": 16,
  "grpc.list50": 4,
  "grpc.create": 4,
};
const sampleMs = 30_000;
/** Fewer samples are not enough to judge memory. */
const minSamples = 6;
const flatMbPerMinute = 1;
const maxStallMs = 50;

/** Runs for `minutes` after a warm-up. Prints a line each half minute, and the results at the end. */
export async function soak(platform: Platform, load: (job: Job) => Promise<Measured>, minutes: number): Promise<void> {
  const run = (durationMs: number) =>
    Promise.all(
      Object.entries(mix).map(([name, concurrency]) =>
        load({ ...requests[name as RequestName](platform), concurrency, warmUpMs: 0, durationMs, yieldsCore: true }),
      ),
    );
  await run(15_000);
  await platform.health(); // discards the stalls so far
  const referenceStalls = watchStalls();
  const samples: { rssMb: number; ownStallMs: number }[] = [];
  printCells(["minute", "calls/s", "p99 ms", "RSS MB", "longest stall ms", "without the machine's"]);
  while (samples.length < minutes * 2) {
    referenceStalls(); // discards those between two runs
    const measured = await run(sampleMs);
    const { rssMb, stalls } = await platform.health();
    const reference = referenceStalls();
    const ownStallMs = longest(stalls.map((stall) => ownLengthOf(stall, reference)));
    samples.push({ rssMb, ownStallMs });
    emptyLogs();
    printCells([
      (samples.length / 2).toFixed(1),
      Math.round(measured.reduce((sum, { perSecond }) => sum + perSecond, 0)),
      round2(Math.max(...measured.map(({ p99Ms }) => p99Ms))),
      Math.round(rssMb),
      round2(longest(stalls.map(lengthOf))),
      round2(ownStallMs),
    ]);
  }
  const stallMs = longest(samples.map(({ ownStallMs }) => ownStallMs));
  console.log(`memory ${judgeMemory(samples.map(({ rssMb }) => rssMb))}`);
  console.log(
    `longest stall without the machine's: ${round2(stallMs)} ms, ${stallMs <= maxStallMs ? "within" : "BEYOND"} ${maxStallMs} ms`,
  );
}

function printCells(cells: readonly (string | number)[]): void {
  console.log(cells.map((cell) => String(cell).padEnd(8)).join(" "));
}

function longest(lengthsMs: readonly number[]): number {
  return Math.max(0, ...lengthsMs);
}

/** Ignores the first third, in which caches are filled. */
function judgeMemory(rssMb: readonly number[]): string {
  if (rssMb.length < minSamples) return "is not judged: the soak is too short";
  const slope = slopePerMinute(rssMb.slice(Math.floor(rssMb.length / 3)));
  return `${slope <= flatMbPerMinute ? "is flat" : "GROWS"}: ${round2(slope)} MB a minute after the first third`;
}

/** The slope by least squares, over samples of half a minute each. */
function slopePerMinute(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const covariance = values.reduce((sum, value, i) => sum + (i - middle) * (value - mean), 0);
  const variance = values.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  return (covariance / variance) * 2;
}
