/**
 * The text forms of ProtoJSON: Timestamp (RFC 3339), Duration, FieldMask and bytes (RFC 4648).
 *
 * Timestamps are written in UTC with exactly three fractional digits, cut off, not rounded; they are read with up to
 * nine digits and any offset. Reading returns undefined for text that is not of the form.
 */

/** Seconds since 1970, or of a span, and the rest in nanoseconds. */
export interface SecondsAndNanos {
  readonly seconds: bigint;
  readonly nanos: number;
}

const DAY_SECONDS = 86_400;
const MIN_TIMESTAMP = -62_135_596_800; // 0001-01-01T00:00:00Z
const MAX_TIMESTAMP = 253_402_300_799; // 9999-12-31T23:59:59Z
const MAX_DURATION = 315_576_000_000; // 10,000 years

const TWO_DIGITS = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, "0"));
const THREE_DIGITS = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, "0"));
const twoDigits = (n: number): string => TWO_DIGITS[n] as string;

/** `2024-01-31T12:34:56.789Z`. Throws outside the years 0001 to 9999. */
export function formatTimestamp(value: SecondsAndNanos): string {
  const seconds = Number(value.seconds);
  const nanos = value.nanos;
  if (!(seconds >= MIN_TIMESTAMP && seconds <= MAX_TIMESTAMP && nanos >= 0 && nanos < 1e9)) {
    throw new RangeError("timestamp out of range");
  }
  const day = Math.floor(seconds / DAY_SECONDS);
  const second = seconds - day * DAY_SECONDS;
  const minute = Math.floor(second / 60);
  const hour = Math.floor(minute / 60);
  const time = `T${twoDigits(hour)}:${twoDigits(minute - hour * 60)}:${twoDigits(second - minute * 60)}`;
  return `${dateOf(day)}${time}.${THREE_DIGITS[Math.floor(nanos / 1e6)]}Z`;
}

/** The dates of the days that were written last; the timestamps of a list share few. */
const PLACES = 64;
const days: number[] = new Array(PLACES).fill(Number.NaN);
const dates: string[] = new Array(PLACES).fill("");

/** `2024-01-31` for a day counted from 1970. */
export function dateOf(day: number): string {
  const place = day & (PLACES - 1);
  if (days[place] !== day) {
    days[place] = day;
    dates[place] = formatDay(day);
  }
  return dates[place] as string;
}

/**
 * The date of a day, counted from 1970, without a Date, which takes several times as long. In years that begin in March
 * the leap day comes last and any five months have 153 days
 * (https://howardhinnant.github.io/date_algorithms.html#civil_from_days).
 */
function formatDay(day: number): string {
  const sinceYear0 = day + 719_468;
  const era = Math.floor(sinceYear0 / 146_097);
  const dayOfEra = sinceYear0 - era * 146_097;
  const leapDays = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - 365 * yearOfEra - Math.floor(yearOfEra / 4) + Math.floor(yearOfEra / 100);
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * month + 2) / 5) + 1;
  const year = era * 400 + yearOfEra + (month < 10 ? 0 : 1);
  return `${twoDigits(Math.floor(year / 100))}${twoDigits(year % 100)}-${twoDigits(month < 10 ? month + 3 : month - 9)}-${twoDigits(dayOfMonth)}`;
}

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** Reads an RFC 3339 date and time. */
export function parseTimestamp(text: string): SecondsAndNanos | undefined {
  const match = TIMESTAMP.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHours, offsetMinutes] = match;
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`);
  // Some engines turn 30 February into March.
  if (Number.isNaN(midnight) || new Date(midnight).getUTCDate() !== Number(day)) {
    return undefined;
  }
  const offset =
    sign === undefined ? 0 : (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === "+" ? 60 : -60);
  const seconds = midnight / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - offset;
  if (seconds < MIN_TIMESTAMP || seconds > MAX_TIMESTAMP) {
    return undefined;
  }
  return { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, "0")) };
}

/** `1.500s`, with no, three, six or nine fractional digits. Throws beyond 10,000 years and on mixed signs. */
export function formatDuration(value: SecondsAndNanos): string {
  const seconds = Number(value.seconds);
  const nanos = value.nanos;
  if (Math.abs(seconds) > MAX_DURATION || Math.abs(nanos) >= 1e9 || seconds * nanos < 0) {
    throw new RangeError("duration out of range");
  }
  const sign = seconds < 0 || nanos < 0 ? "-" : "";
  let fraction = "";
  if (nanos !== 0) {
    fraction = `.${String(Math.abs(nanos)).padStart(9, "0")}`;
    while (fraction.endsWith("000")) {
      fraction = fraction.slice(0, -3);
    }
  }
  return `${sign}${Math.abs(seconds)}${fraction}s`;
}

/** Reads seconds with up to nine fractional digits and the letter s. */
export function parseDuration(text: string): SecondsAndNanos | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(text);
  if (match === null || Number(match[2]) > MAX_DURATION) {
    return undefined;
  }
  const [, sign, seconds = "", fraction = ""] = match;
  const nanos = Number(fraction.padEnd(9, "0"));
  return sign === "" ? { seconds: BigInt(seconds), nanos } : { seconds: -BigInt(seconds), nanos: 0 - nanos };
}

/** Comma-separated lowerCamelCase paths. Throws for a path that would not survive the way back. */
export function formatFieldMask(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const camel = path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      if (camel.includes("_") || snakeCase(camel) !== path) {
        throw new RangeError(`field mask path ${JSON.stringify(path)} has no lowerCamelCase form`);
      }
      return camel;
    })
    .join(",");
}

/** More than any message has fields to name. */
const MAX_PATHS = 1000;

/**
 * Reads comma-separated paths, at most 1,000, into snake_case. ProtoJSON knows lowerCamelCase only; snake_case is accepted too,
 * since clients write masks by hand. `*` stays as it is.
 */
export function parseFieldMask(text: string): string[] | undefined {
  if (text === "") {
    return [];
  }
  const paths = text.split(",", MAX_PATHS + 1);
  return paths.includes("") || paths.length > MAX_PATHS ? undefined : paths.map(snakeCase);
}

function snakeCase(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Standard base64 with padding. */
export function formatBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Reads base64 or base64url, padded or not. */
export function parseBytes(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) {
    return undefined;
  }
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if ((text.length - padding) % 4 === 1 || (padding > 0 && text.length % 4 !== 0)) {
    return undefined;
  }
  return new Uint8Array(Buffer.from(text, "base64"));
}
