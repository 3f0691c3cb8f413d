/** Times until something expires, for people. */

/** `58 minutes`; `no more time` if it has expired. @param timeMs milliseconds since 1970. */
export function remainingTime(timeMs: number, nowMs = Date.now()): string {
  const seconds = Math.floor((timeMs - nowMs) / 1000);
  if (seconds <= 0) return "no more time";
  const units = [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ] as const;
  const [unit, length] = units.find(([, size]) => seconds >= size * 2) ?? ["second", 1];
  const count = Math.floor(seconds / length);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
