/** When a delivery that has failed is tried again: exponential back-off with full jitter, for 24 hours; a sink's own `Retry-After` may ask for more. */

/** How long a delivery is tried, from its event on. */
export const deliveryLifeMs = 24 * 3_600_000;

const firstDelayMs = 5000;
const maxDelayMs = 3_600_000;
const minDelayMs = 500;

/**
 * How long to wait after the n-th failed attempt, in milliseconds: anything up to twice as much as after the one before, so that what has failed together does not
 * come back together.
 */
export function retryDelayMs(attempts: number, retryAfterMs = 0, random: () => number = Math.random): number {
  const ceilingMs = Math.min(firstDelayMs * 2 ** (attempts - 1), maxDelayMs);
  return Math.max(minDelayMs, ceilingMs * random(), Math.min(retryAfterMs, maxDelayMs));
}

/** What `Retry-After` asks for (RFC 9110, 10.2.3: seconds or a date), in milliseconds; 0 where it says nothing that can be read. */
export function parseRetryAfter(value: string | string[] | undefined, nowMs: number): number {
  if (typeof value !== "string") return 0;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Math.max(0, ms) || 0;
}
