/**
 * A program that starts as a server does, then makes garbage in the old generation, and prints how many full
 * collections that took. Argument `untuned`: it leaves V8 as it is.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { prepareCollector, shortenPauses } from "../../src/app/garbage-collection.ts";

const isTuned = process.argv[2] !== "untuned";
/** A megabyte, too large for the space of young objects. */
const newMegabyte = () => new Array<number>(128 * 1024).fill(0.5);

/** Each turn of the event loop replaces some of the `megabytesInUse`. */
async function replace(megabytesInUse: number, megabytes: number): Promise<number[][]> {
  const inUse: number[][] = [];
  for (let i = 0; i < megabytes; i++) {
    inUse[i % megabytesInUse] = newMegabyte();
    if (i % 5 === 0) await turn();
  }
  return inUse;
}

if (isTuned) prepareCollector();
const started = await replace(30, 30);
if (isTuned) shortenPauses();
let collections = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if ((entry as PerformanceEntry & { detail: { kind: number } }).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)
      collections++;
  }
});
observer.observe({ entryTypes: ["gc"] });
const working = await replace(5, 2000);
await turn();
process.stdout.write(JSON.stringify({ collections, isHeld: started.length > 0 && working.length > 0 }));
process.exit(0);
