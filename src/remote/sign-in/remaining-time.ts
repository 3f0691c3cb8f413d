/** Times until something expires, for people. */

/** `58 minutes`; `no more time` below a second. @param timeMs milliseconds since 1970. */
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

/** `2026-11-25T10:15:00.000Z, in 59 minutes`. @param timeMs when a token expires, in milliseconds since 1970. */
export function expiryText(timeMs: number, nowMs = Date.now()): string {
  const time = new Date(timeMs).toISOString();
  const isOver = timeMs <= nowMs;
  return isOver ? `${time}; it is accepted for a minute more at most` : `${time}, in ${remainingTime(timeMs, nowMs)}`;
}
