/**
 * The values of settings, and the parsers of their texts. Errors of these: an Error whose message follows the name of
 * the setting.
 */
import { readFileSync } from "node:fs";
import type { LogFormat, LogLevel } from "../log.ts";
import { defaultQuotas } from "../quotas.ts";
import type { Rate } from "../token-buckets.ts";
import type { ConnectionConfig } from "./connections.ts";
import type { ConsoleIssuer, ReservedClient } from "./issuers.ts";
import type { SecretKey } from "./keys.ts";

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

/** All settings. Times are in milliseconds unless the name says otherwise. */
export interface Config extends ConnectionConfig {
  readonly listen: ListenAddress;
  /** `sqlite:<path>` or `postgres://…`. */
  readonly database: string;
  /** How long a start waits for a database that cannot be reached. */
  readonly databaseWait: number;
  /** Whether a start applies pending migrations; auto: on SQLite. An empty database always gets its tables. */
  readonly autoMigrate: "auto" | "on" | "off";
  /** Where clients reach the server, without a trailing slash; undefined: derived from `listen`. */
  readonly baseUrl: string | undefined;
  /** `iss` of the platform's own tokens; used when a database is initialised, kept there afterwards. */
  readonly issuer: string | undefined;
  /**
   * File for the first administrator's token, if a start initialises the database; undefined: it is printed on a
   * terminal.
   */
  readonly initTokenFile: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  /** Undefined: clients are not asked for certificates. */
  readonly tlsClientCa: string | undefined;
  readonly tlsClientAuth: "required" | "optional";
  readonly tlsClientIdentities: "on" | "off";
  /** Host part of `ErrorInfo.domain` and of resource types. */
  readonly serviceHost: string;
  /** 32 bytes that seal page tokens, for servers without a common database; undefined: the database's own key. */
  readonly pageTokenKey: Buffer | undefined;
  /** Keys of 32 bytes for secrets in the database, or the one that is stored in it. The first seals, all open. */
  readonly secretKey: readonly SecretKey[];
  /** A file of keys that sign the platform's own tokens, or its content; undefined: keys stored in the database. */
  readonly signingKey: string | undefined;
  readonly allowLoopbackIssuers: boolean;
  /** Maximum number of patterns in the identities of an organisation. */
  readonly maxPatterns: number;
  /** The clients of issuers at which only one identity provider signs users in for the first time. */
  readonly reservedClients: readonly ReservedClient[];
  /** Whether events may be sent to sinks on a loopback host, also by http. */
  readonly allowLoopbackSinks: boolean;
  readonly openRootGroups: boolean;
  /** The documents that groups can accept; undefined: documents with neutral names. */
  readonly termsDocuments: readonly TermsDocument[] | undefined;
  /** Origins that may call from a browser; empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  /** How long the audit log is kept; undefined: forever. */
  readonly auditRetentionDays: number | undefined;
  /** How long events and their deliveries are kept. */
  readonly eventRetentionDays: number;
  /** Address of the admin listener; undefined: {@link defaultAdminListen}, if it is free. */
  readonly adminListen: ListenAddress | "off" | undefined;
  /** Who gets heap snapshots and CPU profiles there: nobody, loopback peers of a loopback address, everybody. */
  readonly adminDebug: "off" | "loopback" | "on";
  /** Whether calls and resources are measured, for `/metrics` there. */
  readonly metrics: "on" | "off";
  /** How long a server that stops goes on serving, so that balancers leave it; undefined: as it is probed. */
  readonly drainDelay: number | undefined;
  /** How many processes serve. */
  readonly workers: number;
  /** Registry whose notifications are accepted; undefined: none are. */
  readonly registryUrl: string | undefined;
  /** uid of the group that holds its repos. */
  readonly registryGroup: string | undefined;
  /** Bearer token of its notifications. */
  readonly registrySecret: string | undefined;
  /** Credentials for reading it; undefined: it is read without any. */
  readonly registryCredentials: RegistryCredentials | undefined;
  readonly registrySboms: "on" | "off";
  /** Maximum size of a request's body or message, in bytes, before and after decompression. */
  readonly maxRequestBytes: number;
  /** Maximum length of a REST request's URL, in bytes. */
  readonly maxUrlBytes: number;
  /** Maximum size of a request's header fields and URL, in bytes. */
  readonly maxHeaderBytes: number;
  /** Maximum size of all request bodies under way, in bytes; of one connection, an eighth of it or one body. */
  readonly maxPendingBodyBytes: number;
  /** The HTTP/2 implementation: this program's or Node's. */
  readonly http2: "own" | "node";
  /** Whether plain unary calls take the fast path. */
  readonly fastPath: "on" | "off";
  /** Whether codecs are generated for each message type; off: those of the protobuf library are used. */
  readonly generatedCode: "on" | "off";
  /** Whether garbage collection is tuned for short pauses; off: V8's defaults. */
  readonly gcTuning: "on" | "off";
  /** Whether the front page, the API reference and the OpenAPI documents are served. */
  readonly pages: "on" | "off";
  /** The OpenID providers that the console offers for signing in; with none, it takes tokens only. */
  readonly consoleIssuers: readonly ConsoleIssuer[];
  /** The most items of a list that v1 answers whole. */
  readonly v1MaxListItems: number;
  /** How much an organisation can have, by kind; a kind that is absent is unlimited. */
  readonly quotas: Readonly<Record<string, number>>;
  /** How often a caller may make calls that read one resource, list, or write; undefined: as often as it likes. */
  readonly rateLimitRead: Rate | undefined;
  readonly rateLimitList: Rate | undefined;
  readonly rateLimitWrite: Rate | undefined;
  /** The same for token exchanges, and for all requests without a token that is known to be valid, by address. */
  readonly rateLimitExchange: Rate | undefined;
  readonly rateLimitAddress: Rate | undefined;
  /** The most calls under way; those that are answered at once do not count. */
  readonly maxCalls: number;
  /** How long a request may wait for its turn before new ones are refused. */
  readonly maxQueueDelay: number;
  /** How many lists that may read many rows run at once, beside the event loop; 0: on it. */
  readonly maxLongQueries: number;
  /** The most connections of a process to PostgreSQL. */
  readonly databaseConnections: number;
  /** How many transactions may wait for one, and for how long. */
  readonly databaseQueue: number;
  readonly databaseQueueWait: number;
  /** Whether statements stay prepared on PostgreSQL between transactions. */
  readonly databasePreparedStatements: "auto" | "on" | "off";
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** How long a call may take before it is logged as slow; 0: none is. */
  readonly slowCall: number;
  /** Base URL of the collector of traces; undefined: nothing is traced. */
  readonly otlpEndpoint: string | undefined;
  /** The share of calls that are traced without a caller who says so, 0 to 1. */
  readonly traceSampling: number;
  /** Names of the members of `baggage` that calls pass on; empty: none are. */
  readonly traceBaggage: readonly string[];
  /** Whether this is a stand-in for tests, which keeps nothing and takes faults by header. */
  readonly ephemeral: boolean;
  /** File or folder of documents that a stand-in applies before the first call. */
  readonly seed: string | undefined;
  /** Where the clock of a stand-in stands still, in milliseconds since 1970; undefined: it goes. */
  readonly clock: number | undefined;
  /** Undefined: uids are random. */
  readonly uidSeed: number | undefined;
  /** File for the base URL and the token of a stand-in. */
  readonly readyFile: string | undefined;
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

export function parseBytes(least: number, most: number): Parser<number> {
  return parseCount(least, most, "a number of bytes");
}

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
