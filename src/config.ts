/**
 * Typed settings of the server. One table says everything about each setting: its flag, its environment variable, its default and its check.
 * A flag wins over the environment, the environment over the configuration file, the file over the default.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { type LogLevel, logLevels } from "./log.ts";
import { isUid } from "./uid.ts";

/** Everything the server can be told. Times are in milliseconds unless the name says otherwise. */
export interface Config {
  readonly listen: ListenAddress;
  /** `sqlite:<path>` or `postgres://…`. */
  readonly database: string;
  /** How long a server that starts waits for a database that cannot be reached. */
  readonly databaseWait: number;
  /** Where clients reach the server, without a trailing slash; undefined: derived from `listen`. */
  readonly baseUrl: string | undefined;
  /** `iss` of the platform's own tokens; used when a database is initialised, kept there afterwards. */
  readonly issuer: string | undefined;
  /** Where the first administrator's token is written when a start initialises the database; undefined: it is printed on a terminal. */
  readonly initTokenFile: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  /** Host part of `ErrorInfo.domain` and of resource types. */
  readonly serviceHost: string;
  /** 32 bytes that seal page tokens, for servers that share no database; undefined: the database's own key. */
  readonly pageTokenKey: Buffer | undefined;
  /** 32 bytes that seal secrets in the database; undefined: a key kept in the database itself. */
  readonly secretKey: Buffer | undefined;
  readonly allowLoopbackIssuers: boolean;
  /** How many identities with patterns an organisation may have. */
  readonly maxPatternIdentities: number;
  /** Whether events may be sent to sinks on a loopback host, by http too. */
  readonly allowLoopbackSinks: boolean;
  readonly openRootGroups: boolean;
  /** What groups can accept as terms; undefined: documents with neutral names. */
  readonly termsDocuments: readonly TermsDocument[] | undefined;
  /** Origins that may call from a browser; empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  /** How long the audit log is kept; undefined: for ever. */
  readonly auditRetentionDays: number | undefined;
  /** How long events, and what became of them, are kept. */
  readonly eventRetentionDays: number;
  /** Where metrics can be read; undefined: nowhere. */
  readonly metricsListen: ListenAddress | undefined;
  /** Where the registry is whose notifications are taken; undefined: none are. */
  readonly registryUrl: string | undefined;
  /** The uid of the group that holds its repos. */
  readonly registryGroup: string | undefined;
  /** What its notifications carry as their bearer token. */
  readonly registrySecret: string | undefined;
  /** Who reads it; undefined: anybody may. */
  readonly registryCredentials: RegistryCredentials | undefined;
  /** Bytes of a request's body or message, before and after decompression. */
  readonly maxRequestBytes: number;
  /** Bytes of a request's URL over REST. */
  readonly maxUrlBytes: number;
  /** Bytes of a request's header fields with its URL. */
  readonly maxHeaderBytes: number;
  /** Bytes of request bodies that are under way, in total; one connection may hold an eighth of it, or one body. */
  readonly maxPendingBodyBytes: number;
  readonly fullDoors: boolean;
  readonly logLevel: LogLevel;
}

/** Who reads a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
}

/** A legal document. */
export interface TermsDocument {
  /** `registry-tos.v1`; a new version is a new document. */
  readonly id: string;
  readonly label: string;
  /** Where it can be read; "" where it has no address. */
  readonly url: string;
}

/** A host and a port; port 0 lets the system choose. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** How one setting is given: its key in the configuration file gives the flag (`--base-url`) and the variable (`PLATFORM_BASE_URL`). */
export interface Setting<T> {
  readonly help: string;
  /** Shown in `--help`, in place of the value. Absent: the setting is a switch. */
  readonly placeholder?: string;
  readonly default: string | undefined;
  parse(text: string): T;
}

/** A setting that cannot be used; the message names where it came from. */
export class ConfigError extends Error {}

const text = (value: string) => value;

/** The settings, in the order `--help` prints them. */
export const settings: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  listen: {
    help: "address to listen on; a port alone listens on 127.0.0.1",
    placeholder: "HOST:PORT",
    default: "127.0.0.1:8080",
    parse: parseListen,
  },
  database: {
    help: "sqlite:PATH, sqlite::memory: (discarded when the server ends) or postgres://…",
    placeholder: "URL",
    default: "sqlite:./data/platform.db",
    parse: oneOf(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, "sqlite:PATH or postgres://…"),
  },
  databaseWait: {
    help: "how long to wait at the start for a PostgreSQL server that cannot be reached: 90s, 5m, 1h",
    placeholder: "DURATION",
    default: "60s",
    parse: parseDuration,
  },
  baseUrl: {
    help: "URL at which clients reach the server",
    placeholder: "URL",
    default: undefined,
    parse: parseBaseUrl,
  },
  issuer: {
    help: "issuer of the platform's own tokens, fixed when the database is initialised (default: the base URL)",
    placeholder: "URL",
    default: undefined,
    parse: parseBaseUrl,
  },
  initTokenFile: {
    help: "file to write the first administrator's token to, when the start initialises the database",
    placeholder: "FILE",
    default: undefined,
    parse: text,
  },
  tlsCert: {
    help: "PEM file of the certificate chain; enables TLS",
    placeholder: "FILE",
    default: undefined,
    parse: text,
  },
  tlsKey: { help: "PEM file of the certificate's private key", placeholder: "FILE", default: undefined, parse: text },
  serviceHost: {
    help: "host part of error domains and resource types",
    placeholder: "NAME",
    default: "platform.internal",
    parse: oneOf(/^[a-z0-9]([a-z0-9.-]{0,200}[a-z0-9])?$/, "a host name"),
  },
  pageTokenKey: {
    help: "key that encrypts page tokens, 64 hex digits (default: a key stored in the database)",
    placeholder: "HEX",
    default: undefined,
    parse: parseKey,
  },
  secretKey: {
    help: "key that encrypts secrets in the database, 64 hex digits (default: a key stored in the database)",
    placeholder: "HEX",
    default: undefined,
    parse: parseKey,
  },
  allowLoopbackIssuers: {
    help: "accept token issuers at http://localhost (for tests)",
    default: "false",
    parse: parseSwitch,
  },
  maxPatternIdentities: {
    help: "maximum number of identities with patterns in an organisation",
    placeholder: "NUMBER",
    default: "100",
    parse: (value) => Number(oneOf(/^[0-9]{1,5}$/, "a number from 0 to 99999")(value)),
  },
  allowLoopbackSinks: {
    help: "send events to sinks at http://localhost (for tests and trials)",
    default: "false",
    parse: parseSwitch,
  },
  openRootGroups: {
    help: "allow every root-level identity to create root groups",
    default: "false",
    parse: parseSwitch,
  },
  termsDocuments: {
    help: "legal documents that groups can accept: a JSON list of {id, label, url}, or a file with one",
    placeholder: "JSON|FILE",
    default: undefined,
    parse: parseTermsDocuments,
  },
  corsOrigins: {
    help: "origins that may call from a browser, comma-separated",
    placeholder: "LIST",
    default: "",
    parse: (value) => value.split(",").flatMap((origin) => origin.trim() || []),
  },
  auditRetentionDays: {
    help: "days to keep the audit log (default: forever)",
    placeholder: "DAYS",
    default: undefined,
    parse: parseDays,
  },
  eventRetentionDays: {
    help: "days to keep events and their deliveries",
    placeholder: "DAYS",
    default: "30",
    parse: parseDays,
  },
  metricsListen: {
    help: "address that serves metrics in the Prometheus format (default: none)",
    placeholder: "HOST:PORT",
    default: undefined,
    parse: parseListen,
  },
  registryUrl: {
    help: "registry whose notifications are accepted at /registry/notifications",
    placeholder: "URL",
    default: undefined,
    parse: parseBaseUrl,
  },
  registryGroup: {
    help: "group that holds the repos of the registry",
    placeholder: "UID",
    default: undefined,
    parse: (value) => {
      if (!isUid(value)) throw new Error(`must be the uid of a group, not "${value}"`);
      return value;
    },
  },
  registrySecret: {
    help: "file with the bearer token that the registry sends, 16 to 1024 characters",
    placeholder: "FILE",
    default: undefined,
    parse: (path) => oneOf(/^[!-~]{16,1024}$/, "a file with 16 to 1024 visible ASCII characters")(readSecret(path)),
  },
  registryCredentials: {
    help: "file with USER:PASSWORD for reading a registry",
    placeholder: "FILE",
    default: undefined,
    parse: parseCredentials,
  },
  maxRequestBytes: {
    help: "maximum size of a request body or message, in bytes, before and after decompression",
    placeholder: "BYTES",
    default: "1048576",
    parse: parseBytes(16 * 1024, 64 * 1024 * 1024),
  },
  maxUrlBytes: {
    help: "maximum length of the URL of a REST request, in bytes",
    placeholder: "BYTES",
    default: "8192",
    parse: parseBytes(1024, 1024 * 1024),
  },
  maxHeaderBytes: {
    help: "maximum size of the header fields of a request, in bytes, including its URL",
    placeholder: "BYTES",
    default: "16384",
    parse: parseBytes(4096, 1024 * 1024),
  },
  maxPendingBodyBytes: {
    help: "maximum memory for request bodies that are being received, in bytes; one connection may use an eighth of it",
    placeholder: "BYTES",
    default: "67108864",
    parse: parseBytes(1024 * 1024, 999_999_999),
  },
  fullDoors: {
    help: "disable the fast path for unary calls and use Node's HTTP implementation (for comparison)",
    default: "false",
    parse: parseSwitch,
  },
  logLevel: {
    help: `minimum severity of log lines: ${logLevels.join(", ")}`,
    placeholder: "LEVEL",
    default: "info",
    parse: (value) => oneOf(new RegExp(`^(${logLevels.join("|")})$`), logLevels.join(", "))(value) as LogLevel,
  },
};

const keys = Object.keys(settings) as (keyof Config)[];

/** `baseUrl` → `--base-url`. */
export function flagOf(key: keyof Config): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `baseUrl` → `PLATFORM_BASE_URL`. */
export function variableOf(key: keyof Config): string {
  return `PLATFORM_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Where {@link readConfig} looks. */
export interface ConfigSources {
  /** Values of the flags given, by setting. */
  readonly flags: Readonly<Partial<Record<keyof Config, string>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of a JSON file whose keys are the settings' names. */
  readonly file?: string | undefined;
  /** Told about every `PLATFORM_*` variable that is no setting. */
  warn(message: string): void;
}

/** Reads every setting. Errors: ConfigError on an unusable value, an unknown key of the file, a certificate without its key. */
export function readConfig(sources: ConfigSources): Config {
  const known = new Set(["PLATFORM_CONFIG", ...keys.map(variableOf)]);
  for (const name of Object.keys(sources.env)) {
    if (name.startsWith("PLATFORM_") && !known.has(name))
      sources.warn(`unknown environment variable ${name} is ignored${suggestion(name, known)}`);
  }
  const env = withoutServiceLink(sources);
  const file = sources.file === undefined ? {} : readFile(sources.file);
  const config = Object.fromEntries(
    keys.map((key) => {
      const [value, origin] =
        sources.flags[key] !== undefined
          ? [sources.flags[key], flagOf(key)]
          : env[variableOf(key)] !== undefined
            ? [env[variableOf(key)], variableOf(key)]
            : file[key] !== undefined
              ? [file[key], `${sources.file}: ${key}`]
              : [settings[key].default, key];
      if (value === undefined) return [key, undefined];
      try {
        return [key, settings[key].parse(value)];
      } catch (error) {
        throw new ConfigError(`${origin}: ${(error as Error).message}`);
      }
    }),
  ) as unknown as Config;
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    throw new ConfigError(`${flagOf("tlsCert")} and ${flagOf("tlsKey")} must be set together`);
  }
  const together = ["registryUrl", "registryGroup", "registrySecret"] as const;
  if (new Set(together.map((key) => config[key] === undefined)).size > 1)
    throw new ConfigError(`${together.map(flagOf).join(", ")} must be set together`);
  return config;
}

/** The URL clients use: the setting, else one made from the address in use. */
export function baseUrlOf(config: Config, address: ListenAddress = config.listen): string {
  if (config.baseUrl !== undefined) return config.baseUrl;
  const anyHost = address.host === "0.0.0.0" || address.host === "::";
  return addressUrlOf(config, anyHost ? { ...address, host: "localhost" } : address);
}

/** The URL of the address in use. */
export function addressUrlOf({ tlsCert }: Config, { host, port }: ListenAddress): string {
  return `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function readFile(path: string): Partial<Record<keyof Config, string>> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ConfigError(`${path}: ${(error as Error).message}`);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content))
    throw new ConfigError(`${path}: not a JSON object`);
  for (const [key, value] of Object.entries(content)) {
    if (!(keys as string[]).includes(key))
      throw new ConfigError(`${path}: unknown key "${key}"${suggestion(key, keys)}`);
    if (!["string", "number", "boolean"].includes(typeof value))
      throw new ConfigError(`${path}: "${key}" must be a string, number or boolean`);
  }
  return Object.fromEntries(Object.entries(content).map(([key, value]) => [key, String(value)]));
}

/**
 * The environment without what Kubernetes injects for a service named `platform`: PLATFORM_SERVICE_HOST is its address there, beside its port, and the name
 * of a setting here.
 */
function withoutServiceLink({ env, warn }: ConfigSources): ConfigSources["env"] {
  const { PLATFORM_SERVICE_HOST: host, ...others } = env;
  if (host === undefined || env.PLATFORM_SERVICE_PORT === undefined || isIP(host) === 0) return env;
  warn("PLATFORM_SERVICE_HOST is ignored: with PLATFORM_SERVICE_PORT it is an address that Kubernetes injects");
  return others;
}

/** The name that was probably meant. */
function suggestion(name: string, known: Iterable<string>): string {
  const [nearest] = [...known]
    .map((other) => ({ other, distance: name.startsWith(`${other}_`) ? 1 : editDistance(name, other) }))
    .filter(({ distance }) => distance <= 3)
    .sort((a, b) => a.distance - b.distance);
  return nearest === undefined ? "" : `; did you mean ${nearest.other}?`;
}

/** How many characters must be added, removed or replaced to make one text of another. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

function parseListen(value: string): ListenAddress {
  const match = /^(?:(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]]*):)?(?<port>[0-9]+)$/.exec(value);
  const port = Number(match?.groups?.port);
  if (match === null) throw new Error(`must be HOST:PORT, not "${value}"`);
  if (port > 65535) throw new Error(`must be HOST:PORT with a port from 0 to 65535, not "${value}"`);
  return { host: (match.groups?.host || "127.0.0.1").replace(/^\[|\]$/g, ""), port };
}

function parseBaseUrl(value: string): string {
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

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds; a number alone is of seconds. */
function parseDuration(value: string): number {
  const [, number, unit = "s"] = /^([0-9]{1,6})(ms|s|m|h)?$/.exec(value) ?? [];
  if (number === undefined) throw new Error(`must be a duration like 90s, 5m or 1h, not "${value}"`);
  return Number(number) * unitMs[unit]!;
}

function parseDays(value: string): number {
  return Number(oneOf(/^[1-9][0-9]{0,4}$/, "a number of days from 1 to 99999")(value));
}

function parseBytes(least: number, most: number): (value: string) => number {
  return (value) => {
    const bytes = /^[0-9]{1,9}$/.test(value) ? Number(value) : 0;
    if (bytes < least || bytes > most) throw new Error(`must be a number of bytes from ${least} to ${most}`);
    return bytes;
  };
}

function parseKey(value: string): Buffer {
  return Buffer.from(oneOf(/^[0-9a-fA-F]{64}$/, "64 hex digits")(value), "hex");
}

function parseTermsDocuments(value: string): readonly TermsDocument[] {
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

/** What a file holds, without the line break at its end. */
function readSecret(path: string): string {
  return readFileSync(path, "utf8").replace(/\r?\n$/, "");
}

function parseCredentials(path: string): RegistryCredentials {
  const [, username, password] = /^([^:\s]+):([^\r\n]+)$/.exec(readSecret(path)) ?? [];
  if (username === undefined || password === undefined) throw new Error(`${path} must contain USER:PASSWORD`);
  return { username, password };
}

function parseSwitch(value: string): boolean {
  return oneOf(/^(true|false)$/, "true or false")(value) === "true";
}

function oneOf(pattern: RegExp, meaning: string): (value: string) => string {
  return (value) => {
    if (!pattern.test(value)) throw new Error(`must be ${meaning}`);
    return value;
  };
}
