/** Refusals while the server is overloaded: counted for the metrics, and logged now and then. */
import type { Logger } from "../log.ts";

/** The limit that was reached, by its setting. */
export type OverloadLimit = "max-queue-delay" | "max-calls";

/** The refusals of a server. */
export interface Overload {
  /** How many requests have been refused, by limit. */
  readonly refused: ReadonlyMap<string, number>;
  /** Counts one. */
  report(limit: OverloadLimit): void;
}

/** A line is logged at most this often. */
const logMs = 10_000;

/** Begins to count. */
export function createOverload(log: Logger): Overload {
  const refused = new Map<string, number>();
  let unlogged = 0;
  let loggedMs = Number.NEGATIVE_INFINITY;
  return {
    refused,
    report(limit) {
      refused.set(limit, (refused.get(limit) ?? 0) + 1);
      unlogged++;
      const nowMs = performance.now();
      if (nowMs - loggedMs < logMs) return;
      log.warn({ limit, refused: unlogged }, "overloaded");
      loggedMs = nowMs;
      unlogged = 0;
    },
  };
}
