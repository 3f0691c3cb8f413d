const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A time in RFC 3339, relative to now, with the exact one on hover. */
export function Time({ time }: { readonly time: string }) {
  const seconds = (Date.parse(time) - Date.now()) / 1000;
  const [unit, length] = units.find(([, it]) => Math.abs(seconds) >= it) ?? ["second", 1];
  return (
    <time dateTime={time} title={new Date(time).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" })}>
      {relative.format(Math.round(seconds / length), unit)}
    </time>
  );
}

/** A time in RFC 3339 as an input of local time has it. */
export function localTime(time: string): string {
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
