/** command: what all commands have in common: how they read options and files, fail, are stopped, and show progress. */
export { CommandFailure } from "./failure.ts";
export { ProgressLine } from "./progress.ts";
export { readInput } from "./read-input.ts";
export { stopSignal } from "./stop-signal.ts";
export { wholeNumber } from "./whole-number.ts";
