/** command: what all commands have in common: how they fail, how they are stopped, and how they show progress. */
export { CommandFailure } from "./failure.ts";
export { ProgressLine } from "./progress.ts";
export { stopSignal } from "./stop-signal.ts";
