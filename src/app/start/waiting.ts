/** A server that waits for its database. */

import { setTimeout as delay } from "node:timers/promises";
import { codeOf, type Logger } from "../../log.ts";
import { UnavailableError } from "../../store/index.ts";
import { StartFailure } from "../failure.ts";

/** What {@link whenReachable} needs. */
export interface Waiting {
  readonly waitMs: number;
  readonly log: Logger;
  /** Ends the waiting with its reason. */
  readonly signal: AbortSignal | undefined;
}

const retryMs = 500;
const lineMs = 10_000;

/**
 * Runs `work`, and again until it does not fail with UnavailableError. A line is logged every 10 s. Errors: any other
 * error of `work`; StartFailure after `waitMs`; the signal's reason.
 */
export async function whenReachable<T>(work: () => Promise<T>, { waitMs, log, signal }: Waiting): Promise<T> {
  const startMs = performance.now();
  for (let nextLineMs = startMs; ; ) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      const nowMs = performance.now();
      const leftMs = startMs + waitMs - nowMs;
      if (leftMs <= 0) throw gaveUp(error, waitMs);
      if (nowMs >= nextLineMs) {
        log.warn(
          { reason: error.message, code: codeOf(error), secondsLeft: Math.ceil(leftMs / 1000) },
          "waiting for the database",
        );
        nextLineMs += lineMs;
      }
      // An abort is seen at the beginning of the loop.
      await delay(Math.min(retryMs, leftMs), undefined, signal && { signal }).catch(() => {});
    }
  }
}

function gaveUp(error: UnavailableError, waitMs: number): StartFailure {
  const waited = waitMs > 0 ? ` within ${waitMs / 1000} s (--database-wait)` : "";
  return new StartFailure(`--database: ${error.message}${waited}`, { cause: error });
}
