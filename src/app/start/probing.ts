/** Whether somebody, such as a balancer, routes calls by the readiness of the server. It learns of a stop in time. */
import type { Config } from "../../config/index.ts";

/** A client that has asked for readiness within this time is expected to ask again. */
const recentMs = 30_000;
/** Balancers ask every few seconds. */
const defaultDelayMs = 5_000;

/** When somebody last asked for readiness. */
export class Probing {
  #lastMs = Number.NEGATIVE_INFINITY;

  /** Notes that somebody asks now. */
  note(): void {
    this.#lastMs = performance.now();
  }

  get isRecent(): boolean {
    return performance.now() - this.#lastMs < recentMs;
  }
}

/** How long a server that stops goes on serving, in milliseconds. */
export function drainDelayOf({ drainDelay }: Config, isProbed: boolean): number {
  return drainDelay ?? (isProbed ? defaultDelayMs : 0);
}
