/**
 * Limits how fast this process sends: 12 deliveries every 8 ms, 1500 a second. Deliveries share the event loop with the
 * API; a call waits for one batch of 12 at most, however many deliveries are due. More processes send more.
 */

/** Limits the rate of deliveries. */
export interface RateLimit {
  /** Resolves when the caller may begin a delivery. Callers are served first in, first out. */
  acquire(): Promise<void>;
}

const perInterval = 12;
const intervalMs = 8;

/** Creates a rate limit with its first interval unused. */
export function createRateLimit(): RateLimit {
  const waiting: (() => void)[] = [];
  let left = perInterval;
  let timer: NodeJS.Timeout | undefined;

  function refill(): void {
    left = perInterval;
    while (left > 0 && waiting.length > 0) {
      left--;
      waiting.shift()!();
    }
    if (waiting.length === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  return {
    async acquire() {
      timer ??= setInterval(refill, intervalMs);
      if (left > 0) left--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
