/** Parsers of the values of settings. Errors: an Error whose message follows the name of the setting. */
import { readFileSync } from "node:fs";
import type { Rate } from "./token-buckets.ts";

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
}

export function parseListen(value: string): ListenAddress {
  const match = /^(?:(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]]*):)?(?<port>[0-9]+)$/.exec(value);
  const port = Number(match?.groups?.port);
  if (match === null) throw new Error(`must be HOST:PORT, not "${value}"`);
  if (port > 65535) throw new Error(`must be HOST:PORT with a port from 0 to 65535, not "${value}"`);
  return { host: (match.groups?.host || "127.0.0.1").replace(/^\[|\]$/g, ""), port };
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
    throw new Error(`must be an http or https URL without query, not "${value}"`);
  }
  return url.href.replace(/\/+$/, "");
}

/** Parses `RATE` or `RATE/BURST`, both in requests, the rate per second; `off` is undefined. */
export function parseRate(value: string): Rate | undefined {
  if (value === "off") return undefined;
  const match = /^([1-9][0-9]{0,6})(?:\/([1-9][0-9]{0,6}))?$/.exec(value);
  if (match === null) throw new Error(`must be off, RATE or RATE/BURST, in requests per second, not "${value}"`);
  const perSecond = Number(match[1]);
  return { perSecond, burst: Number(match[2] ?? match[1]) };
}

/** The quotas of an organisation, unless the setting says otherwise. */
export const defaultQuotas: Readonly<Record<string, number>> = {
  groups: 100_000,
  identities: 1_000_000,
  roleBindings: 1_000_000,
  subscriptions: 10_000,
  repos: 10_000_000,
  tags: 100_000_000,
};

/** Parses `repos=1000,tags=unlimited`, which replaces some of the defaults. */
export function parseQuotas(value: string): Readonly<Record<string, number>> {
  const quotas: Record<string, number> = { ...defaultQuotas };
  for (const item of value.split(",").filter((item) => item.trim() !== "")) {
    const [, name = "", limit = ""] = /^\s*(\w+)=(\w+)\s*$/.exec(item) ?? [];
    if (!Object.hasOwn(defaultQuotas, name))
      throw new Error(`must be a list of NAME=NUMBER, where NAME is one of ${Object.keys(defaultQuotas).join(", ")}`);
    if (limit === "unlimited") delete quotas[name];
    else quotas[name] = parseCount(0, 999_999_999)(limit);
  }
  return quotas;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a duration into milliseconds; a number without a unit is in seconds. */
export function parseDuration(value: string): number {
  const [, number, unit = "s"] = /^([0-9]{1,6})(ms|s|m|h)?$/.exec(value) ?? [];
  if (number === undefined) throw new Error(`must be a duration like 90s, 5m or 1h, not "${value}"`);
  return Number(number) * unitMs[unit]!;
}

export function parseDays(value: string): number {
  return Number(oneOf(/^[1-9][0-9]{0,4}$/, "a number of days from 1 to 99999")(value));
}

export function parseBytes(least: number, most: number): (value: string) => number {
  return (value) => {
    const bytes = /^[0-9]{1,9}$/.test(value) ? Number(value) : 0;
    if (bytes < least || bytes > most) throw new Error(`must be a number of bytes from ${least} to ${most}`);
    return bytes;
  };
}

export function parseCount(least: number, most: number): (value: string) => number {
  return (value) => {
    const count = /^[0-9]{1,9}$/.test(value) ? Number(value) : -1;
    if (count < least || count > most) throw new Error(`must be a number from ${least} to ${most}`);
    return count;
  };
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

export function parseSwitch(value: string): boolean {
  return oneOf(/^(true|false)$/, "true or false")(value) === "true";
}

export function parseChoice<const T extends string>(...choices: readonly T[]): (value: string) => T {
  return (value) => {
    const choice = choices.find((one) => one === value);
    if (choice === undefined) throw new Error(`must be ${choices.join(" or ")}`);
    return choice;
  };
}

export function oneOf(pattern: RegExp, meaning: string): (value: string) => string {
  return (value) => {
    if (!pattern.test(value)) throw new Error(`must be ${meaning}`);
    return value;
  };
}
