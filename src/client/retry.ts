/** When a failed call is repeated (AIP-194), and how long to wait before. */
import { Code } from "@connectrpc/connect";
import type { PlatformError } from "./errors.ts";

/** How calls are repeated. */
export interface RetryOptions {
  /** How often a call is sent at most, the first time included; 5 by default. */
  readonly maxAttempts?: number;
  /** Milliseconds before the second attempt, which double with each further one; 200 by default. */
  readonly initialDelayMs?: number;
  /** Milliseconds that they grow to; 10,000 by default. */
  readonly maxDelayMs?: number;
}

/**
 * Milliseconds to wait before the next attempt; undefined if the error is final. Half of the time is random, so that
 * clients do not return at once. @param attempts how often the call has been sent.
 */
export function delayBeforeRetry(
  { code, retryAfter }: PlatformError,
  attempts: number,
  { maxAttempts = 5, initialDelayMs = 200, maxDelayMs = 10_000 }: RetryOptions,
): number | undefined {
  const isTransient = code === Code.Unavailable || (code === Code.ResourceExhausted && retryAfter !== undefined);
  if (!isTransient || attempts >= maxAttempts) return undefined;
  const delay = Math.min(initialDelayMs * 2 ** (attempts - 1), maxDelayMs);
  return (retryAfter ?? 0) + delay * (0.5 + Math.random() / 2);
}
