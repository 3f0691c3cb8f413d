/** Durations on the command line. */

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds of a duration like `90s`, `15m`, `1h` or `7d`; NaN for any other text. */
export function durationMs(text: string): number {
  const [, amount, unit = ""] = /^([1-9][0-9]{0,6})([smhd])$/.exec(text) ?? [];
  return Number(amount) * (unitMs[unit] ?? Number.NaN);
}
