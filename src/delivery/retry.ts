/**
 * When a failed delivery is retried: exponential back-off with full jitter, for 24 hours. `Retry-After` of the sink can
 * lengthen a delay.
 */

/** How long a delivery is retried, from the time of its event. */
export const deliveryLifeMs = 24 * 3_600_000;

const firstDelayMs = 5000;
const maxDelayMs = 3_600_000;
const minDelayMs = 500;

/**
 * The delay after the n-th failed attempt, in milliseconds: random, up to a limit that doubles with every attempt.
 * Deliveries that failed together are not retried together.
 */
export function retryDelayMs(attempts: number, retryAfterMs = 0, random: () => number = Math.random): number {
  const ceilingMs = Math.min(firstDelayMs * 2 ** (attempts - 1), maxDelayMs);
  return Math.round(Math.max(minDelayMs, ceilingMs * random(), Math.min(retryAfterMs, maxDelayMs)));
}

/**
 * The delay in `Retry-After` (RFC 9110, 10.2.3: seconds or a date), in milliseconds; 0 if it is absent or malformed.
 */
export function parseRetryAfter(value: string | string[] | undefined, nowMs: number): number {
  if (typeof value !== "string") return 0;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Math.max(0, ms) || 0;
}
