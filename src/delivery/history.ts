/** The attempts of a delivery, as its entry in the queue keeps them: a JSON array of `[timeMs, durationMs, result]`. */

/** An attempt to deliver that has ended. */
export interface PastAttempt {
  /** When it began, in milliseconds since 1970. */
  readonly timeMs: number;
  readonly durationMs: number;
  /** The HTTP status, or why there was none (`timeout`, `dns`, `tls: …`). */
  readonly result: string;
}

/** How many attempts are kept: the latest. A delivery that is never accepted has about 60 in its 24 hours. */
export const maxPastAttempts = 20;

/** The attempts in a history, oldest first. */
export function attemptsOf(history: string): PastAttempt[] {
  if (history === "") return [];
  const attempts: [number, number, string][] = JSON.parse(history);
  return attempts.map(([timeMs, durationMs, result]) => ({ timeMs, durationMs, result }));
}

/** The history with one more attempt. */
export function withAttempt(history: string, attempt: PastAttempt): string {
  const attempts = [...attemptsOf(history), attempt].slice(-maxPastAttempts);
  return JSON.stringify(attempts.map(({ timeMs, durationMs, result }) => [timeMs, durationMs, result]));
}
