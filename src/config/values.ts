/**
 * The values of settings, and the parsers of their texts. Errors of these: an Error whose message follows the name of
 * the setting.
 */
import { readFileSync } from "node:fs";
import { defaultQuotas } from "../quotas.ts";
import type { Rate } from "../token-buckets.ts";

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Parses the text of a setting. `schema`: of its values in the configuration file; by default strings. */
export type Parser<T> = ((text: string) => T) & { readonly schema?: JsonSchema };

/** Credentials for reading a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
}

/** A legal document. */
export interface TermsDocument {
  /** `registry-tos.v1`; a new version is a new document. */
  readonly id: string;
  readonly label: string;
  /** Where it can be read; may be "". */
  readonly url: string;
}

/** A host and a port; port 0 lets the system choose. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The descriptor of a socket that listens at this address already. */
  readonly socket?: number | undefined;
}

/** A text whose URLs have no password, also not as a parameter. It may lose more than the password. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/:\/\/([^:@/?#]*):.*@/s, "://$1:***@")
    .replace(/([?&][^=&]*(?:pass|secret|token)[^=&]*=)[^&]*/gi, "$1***");
}

export function parseListen(value: string): ListenAddress {
  const match = /^(?:(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]]*):)?(?<port>[0-9]+)$/.exec(value);
  const port = Number(match?.groups?.port);
  if (match === null) throw new Error(`must be HOST:PORT, not "${value}"`);
  if (port > 65535) throw new Error(`must be HOST:PORT with a port from 0 to 65535, not "${value}"`);
  return { host: (match.groups?.host || "127.0.0.1").replace(/^\[|\]$/g, ""), port };
}
parseListen.schema = {
  type: ["string", "integer"],
  pattern: "^(?:(?:\\[[0-9a-fA-F:.]+\\]|[^:\\[\\]]*):)?[0-9]{1,5}$",
  minimum: 0,
  maximum: 65_535,
};

/** Where the admin listener is by default. */
export const defaultAdminListen: ListenAddress = { host: "127.0.0.1", port: 9090 };

/** Parses `HOST:PORT` or `off`. */
export function parseListenOrOff(value: string): ListenAddress | "off" {
  return value === "off" ? value : parseListen(value);
}

export function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== "" ||
    url.hash !== "" ||
    url.username !== ""
  ) {
    throw new Error(`must be an http or https URL without query, not "${withoutPasswords(value)}"`);
  }
  return url.href.replace(/\/+$/, "");
}
parseBaseUrl.schema = { type: "string", pattern: "^https?://[^?#]+$" };

/** Parses `RATE` or `RATE/BURST`, both in requests, the rate per second; `off` is undefined. */
export function parseRate(value: string): Rate | undefined {
  if (value === "off") return undefined;
  const match = /^([1-9][0-9]{0,6})(?:\/([1-9][0-9]{0,6}))?$/.exec(value);
  if (match === null) throw new Error(`must be off, RATE or RATE/BURST, in requests per second, not "${value}"`);
  const perSecond = Number(match[1]);
  return { perSecond, burst: Number(match[2] ?? match[1]) };
}
parseRate.schema = {
  type: ["string", "integer"],
  pattern: "^(?:off|[1-9][0-9]{0,6}(?:/[1-9][0-9]{0,6})?)$",
  minimum: 1,
  maximum: 9_999_999,
};

const maxQuota = 999_999_999_999_999;

/** Parses `repos=1000,tags=unlimited`, which replaces some of the defaults. */
export function parseQuotas(value: string): Readonly<Record<string, number>> {
  const quotas: Record<string, number> = { ...defaultQuotas };
  for (const item of value.split(",").filter((item) => item.trim() !== "")) {
    const [, name = "", limit = ""] = /^\s*(\w+)=(\w+)\s*$/.exec(item) ?? [];
    if (!Object.hasOwn(defaultQuotas, name))
      throw new Error(`must be a list of NAME=NUMBER, where NAME is one of ${Object.keys(defaultQuotas).join(", ")}`);
    quotas[name] = limit === "unlimited" ? Number.POSITIVE_INFINITY : parseCount(0, maxQuota)(limit);
  }
  return quotas;
}
parseQuotas.schema = {
  type: "string",
  pattern: `^(?:\\s*(?:(?:${Object.keys(defaultQuotas).join("|")})=(?:unlimited|[0-9]{1,15})\\s*)?(?:,|$))*$`,
};

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a duration into milliseconds; a number without a unit is in seconds. */
export function parseDuration(value: string): number {
  const [, number, unit = "s"] = /^([0-9]{1,6})(ms|s|m|h)?$/.exec(value) ?? [];
  if (number === undefined) throw new Error(`must be a duration like 90s, 5m or 1h, not "${value}"`);
  return Number(number) * unitMs[unit]!;
}
parseDuration.schema = {
  type: ["string", "integer"],
  pattern: "^[0-9]{1,6}(?:ms|s|m|h)?$",
  minimum: 0,
  maximum: 999_999,
};

export function parseDays(value: string): number {
  return Number(oneOf(/^[1-9][0-9]{0,4}$/, "a number of days from 1 to 99999")(value));
}
parseDays.schema = { type: "integer", minimum: 1, maximum: 99_999 };

export function parseCount(least: number, most: number, meaning = "a number"): Parser<number> {
  const parse = (value: string) => {
    const count = /^[0-9]{1,15}$/.test(value) ? Number(value) : -1;
    if (count < least || count > most) throw new Error(`must be ${meaning} from ${least} to ${most}`);
    return count;
  };
  return Object.assign(parse, { schema: { type: "integer", minimum: least, maximum: most } });
}

export function parseRatio(value: string): number {
  return Number(oneOf(/^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$/, "a number from 0 to 1")(value));
}

export function parseNames(value: string): readonly string[] {
  return oneOf(
    /^([\w.-]+(,[\w.-]+)*)?$/,
    "a comma-separated list of names",
  )(value)
    .split(",")
    .filter(Boolean);
}

export function parseKey(value: string): Buffer {
  return Buffer.from(oneOf(/^[0-9a-fA-F]{64}$/, "64 hex digits")(value), "hex");
}
parseKey.schema = { type: "string", pattern: "^[0-9a-fA-F]{64}$" };

const secretKey = " *(database|[0-9a-fA-F]{64}) *";
const secretKeys = `^${secretKey}(,${secretKey})*$`;

/** Parses keys of 32 bytes, or `database` for the one stored there, separated by commas. */
export function parseSecretKeys(value: string): readonly (Buffer | "database")[] {
  if (!new RegExp(secretKeys).test(value))
    throw new Error("must be 64 hex digits, or database, or several of these separated by commas");
  return value.split(",").map((key) => (key.trim() === "database" ? "database" : Buffer.from(key.trim(), "hex")));
}
parseSecretKeys.schema = { type: "string", pattern: secretKeys };

export function parseTermsDocuments(value: string): readonly TermsDocument[] {
  const list: unknown = JSON.parse(value.trimStart().startsWith("[") ? value : readFileSync(value, "utf8"));
  if (!Array.isArray(list)) throw new Error("must be a JSON list");
  const documents = list.map((item: unknown, i): TermsDocument => {
    const { id, label = "", url = "", ...rest } = Object(item) as Record<string, unknown>;
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) throw new Error(`document ${i}: unknown key "${unknown}"`);
    if (typeof id !== "string" || !/^[\w.-]{1,255}$/.test(id))
      throw new Error(`document ${i}: id must be 1 to 255 letters, digits, ".", "_" and "-"`);
    if (typeof label !== "string" || typeof url !== "string")
      throw new Error(`document ${i}: label and url must be strings`);
    return { id, label, url };
  });
  if (new Set(documents.map(({ id }) => id)).size < documents.length) throw new Error("two documents have the same id");
  return documents;
}

/** The content of a file, without the line break at its end. */
export function readSecret(path: string): string {
  return readFileSync(path, "utf8").replace(/\r?\n$/, "");
}

export function parseCredentials(path: string): RegistryCredentials {
  const [, username, password] = /^([^:\s]+):([^\r\n]+)$/.exec(readSecret(path)) ?? [];
  if (username === undefined || password === undefined) throw new Error(`${path} must contain USER:PASSWORD`);
  return { username, password };
}

/** Parses an RFC 3339 time into milliseconds since 1970. */
export function parseTime(value: string): number {
  const pattern = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?(Z|[+-][0-9]{2}:[0-9]{2})$/;
  const time = Date.parse(oneOf(pattern, "a time like 2026-01-01T00:00:00Z")(value));
  if (Number.isNaN(time)) throw new Error(`must be a time that exists, not "${value}"`);
  return time;
}

export function parseSwitch(value: string): boolean {
  return oneOf(/^(true|false)$/, "true or false")(value) === "true";
}
parseSwitch.schema = { type: "boolean" };

export function parseChoice<const T extends string>(...choices: readonly T[]): Parser<T> {
  const meaning = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(choices);
  const parse = (value: string) => {
    const choice = choices.find((one) => one === value);
    if (choice === undefined) throw new Error(`must be ${meaning}`);
    return choice;
  };
  return Object.assign(parse, { schema: { enum: choices } });
}

export function oneOf(pattern: RegExp, meaning: string): Parser<string> {
  const parse = (value: string) => {
    if (!pattern.test(value)) throw new Error(`must be ${meaning}`);
    return value;
  };
  return Object.assign(parse, { schema: { type: "string", pattern: pattern.source } });
}
