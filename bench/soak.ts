/**
 * A soak: for minutes the server gets more than it can do, of every kind at once, and is asked each half minute how it fares. Its memory must be
 * flat once it is hot, and its event loop must never stand still for long. This process has nothing to do meanwhile, and is the witness: when it
 * stands still as well, it is the machine that did.
 */
import type { Job, Measured } from "./load.ts";
import { emptyLogs } from "./processes.ts";
import { type RequestName, requests } from "./requests.ts";
import type { Platform } from "./servers.ts";
import { lengthOf, ownLengthOf, watchStalls } from "./stalls.ts";
import { round2 } from "./table.ts";

/** Requests of each kind under way at any moment. */
const mix: Partial<Record<RequestName, number>> = {
  "rest.get": 12,
  "rest.list50": 4,
  "rest.create": 4,
  "grpc.get": 16,
  "grpc.list50": 4,
  "grpc.create": 4,
};
const sampleMs = 30_000;
/** Fewer say nothing about memory. */
const minSamples = 6;
const flatMbPerMinute = 1;
const maxStallMs = 50;

/** Runs as many minutes after a warm-up, prints each half minute, and says at the end what came of it. */
export async function soak(platform: Platform, load: (job: Job) => Promise<Measured>, minutes: number): Promise<void> {
  const run = (durationMs: number) =>
    Promise.all(
      Object.entries(mix).map(([name, concurrency]) =>
        load({ ...requests[name as RequestName](platform), concurrency, warmUpMs: 0, durationMs, yieldsCore: true }),
      ),
    );
  await run(15_000);
  await platform.health(); // what came before does not count
  const witnessed = watchStalls();
  const samples: { rssMb: number; ownStallMs: number }[] = [];
  printCells(["minute", "calls/s", "p99 ms", "RSS MB", "longest stall ms", "of the server's own"]);
  while (samples.length < minutes * 2) {
    witnessed(); // what this process did between two runs was its own doing
    const measured = await run(sampleMs);
    const { rssMb, stalls } = await platform.health();
    const pauses = witnessed();
    const ownStallMs = longest(stalls.map((stall) => ownLengthOf(stall, pauses)));
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
    `longest stall of the server's own: ${round2(stallMs)} ms, ${stallMs <= maxStallMs ? "within" : "BEYOND"} ${maxStallMs} ms`,
  );
}

function printCells(cells: readonly (string | number)[]): void {
  console.log(cells.map((cell) => String(cell).padEnd(8)).join(" "));
}

function longest(lengthsMs: readonly number[]): number {
  return Math.max(0, ...lengthsMs);
}

/** The first third does not count: caches are being filled. */
function judgeMemory(rssMb: readonly number[]): string {
  if (rssMb.length < minSamples) return "is not judged: the soak is too short";
  const slope = slopePerMinute(rssMb.slice(Math.floor(rssMb.length / 3)));
  return `${slope <= flatMbPerMinute ? "is flat" : "GROWS"}: ${round2(slope)} MB a minute after the first third`;
}

/** By least squares, over samples of half a minute each. */
function slopePerMinute(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const covariance = values.reduce((sum, value, i) => sum + (i - middle) * (value - mean), 0);
  const variance = values.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  return (covariance / variance) * 2;
}
