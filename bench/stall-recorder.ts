/** Preloaded into a process: appends the stalls of its event loop to the file that the variable STALLS_FILE names. */
import { appendFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { watchStalls } from "./stalls.ts";

const file = process.env.STALLS_FILE;
if (isMainThread && file !== undefined) {
  const stalls = watchStalls();
  const write = () => {
    const lines = stalls().map((stall) => `${JSON.stringify(stall)}\n`);
    if (lines.length > 0) appendFileSync(file, lines.join(""));
  };
  setInterval(write, 1000).unref();
}
