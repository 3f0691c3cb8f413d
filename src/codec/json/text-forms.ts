/**
 * The text forms of ProtoJSON: Timestamp (RFC 3339), Duration, FieldMask and bytes (RFC 4648).
 *
 * Timestamps are written in UTC with exactly three fractional digits, cut off, not rounded, or with all that they have;
 * they are read with up to nine digits and any offset. Reading returns undefined for text that is not of the form.
 */
import { dateOf, twoDigits } from "../dates.ts";

/** Seconds since 1970, or of a duration, and nanoseconds. */
export interface SecondsAndNanos {
  readonly seconds: bigint;
  readonly nanos: number;
}

const daySeconds = 86_400;
const minTimestamp = -62_135_596_800; // 0001-01-01T00:00:00Z
const maxTimestamp = 253_402_300_799; // 9999-12-31T23:59:59Z
const maxDuration = 315_576_000_000; // 10,000 years

const threeDigits = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, "0"));

/** `2024-01-31T12:34:56.789Z`. Throws outside the years 0001 to 9999. */
export function formatTimestamp(value: SecondsAndNanos): string {
  const seconds = Number(value.seconds);
  const nanos = value.nanos;
  if (!(seconds >= minTimestamp && seconds <= maxTimestamp && nanos >= 0 && nanos < 1e9))
    throw new RangeError("timestamp out of range");
  const day = Math.floor(seconds / daySeconds);
  const second = seconds - day * daySeconds;
  const minute = Math.floor(second / 60);
  const hour = Math.floor(minute / 60);
  const time = `T${twoDigits(hour)}:${twoDigits(minute - hour * 60)}:${twoDigits(second - minute * 60)}`;
  return `${dateOf(day)}${time}.${threeDigits[Math.floor(nanos / 1e6)]}Z`;
}

/** `2024-01-31T12:34:56.789012Z`, with no, three, six or nine fractional digits. Throws as `formatTimestamp`. */
export function formatExactTimestamp(value: SecondsAndNanos): string {
  return `${formatTimestamp(value).slice(0, -".789Z".length)}${fractionOf(value.nanos)}Z`;
}

/** `.500` for half a second, with three, six or nine digits; empty for none. */
function fractionOf(nanos: number): string {
  if (nanos === 0) return "";
  let fraction = `.${String(Math.abs(nanos)).padStart(9, "0")}`;
  while (fraction.endsWith("000")) fraction = fraction.slice(0, -3);
  return fraction;
}

const timestampPattern =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** Reads an RFC 3339 date and time. */
export function parseTimestamp(text: string): SecondsAndNanos | undefined {
  const match = timestampPattern.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHours, offsetMinutes] = match;
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`);
  // Some engines turn 30 February into March.
  if (Number.isNaN(midnight) || new Date(midnight).getUTCDate() !== Number(day)) return undefined;
  const offset =
    sign === undefined ? 0 : (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === "+" ? 60 : -60);
  const seconds = midnight / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - offset;
  if (seconds < minTimestamp || seconds > maxTimestamp) return undefined;
  return { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, "0")) };
}

/** `1.500s`, with no, three, six or nine fractional digits. Throws beyond 10,000 years and on mixed signs. */
export function formatDuration(value: SecondsAndNanos): string {
  const seconds = Number(value.seconds);
  const nanos = value.nanos;
  if (Math.abs(seconds) > maxDuration || Math.abs(nanos) >= 1e9 || seconds * nanos < 0)
    throw new RangeError("duration out of range");
  const sign = seconds < 0 || nanos < 0 ? "-" : "";
  return `${sign}${Math.abs(seconds)}${fractionOf(nanos)}s`;
}

/** Reads seconds with up to nine fractional digits and the letter s. */
export function parseDuration(text: string): SecondsAndNanos | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(text);
  if (match === null || Number(match[2]) > maxDuration) return undefined;
  const [, sign, seconds = "", fraction = ""] = match;
  const nanos = Number(fraction.padEnd(9, "0"));
  return sign === "" ? { seconds: BigInt(seconds), nanos } : { seconds: -BigInt(seconds), nanos: 0 - nanos };
}

/** Comma-separated lowerCamelCase paths. Throws for a path that would be read back as another. */
export function formatFieldMask(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const camel = path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      if (camel.includes("_") || snakeCase(camel) !== path)
        throw new RangeError(`field mask path ${JSON.stringify(path)} has no lowerCamelCase form`);
      return camel;
    })
    .join(",");
}

/** More fields than any message has. */
const maxPaths = 1000;

/**
 * Reads at most 1,000 comma-separated paths into snake_case. ProtoJSON knows lowerCamelCase only; snake_case is
 * accepted too, since clients write masks by hand. `*` and an empty path stay as they are: who reads the mask names a
 * path that is not a field.
 */
export function parseFieldMask(text: string): string[] | undefined {
  if (text === "") return [];
  const paths = text.split(",", maxPaths + 1);
  return paths.length > maxPaths ? undefined : paths.map(snakeCase);
}

/** `claim_match.subject` for `claimMatch.subject`. */
export function snakeCase(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Standard base64 with padding. */
export function formatBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Reads base64 or base64url, padded or not. */
export function parseBytes(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if ((text.length - padding) % 4 === 1 || (padding > 0 && text.length % 4 !== 0)) return undefined;
  return new Uint8Array(Buffer.from(text, "base64"));
}
