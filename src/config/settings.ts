/** The settings: one table defines their help texts, defaults and parsers. */
import { availableParallelism } from "node:os";
import { logFormats, logLevels } from "../log.ts";
import { isUid } from "../uid.ts";
import { connectionSettings } from "./connections.ts";
import { parseConsoleIssuers, parseReservedClients } from "./issuers.ts";
import { aChoice, aDuration, aFile, aKey, aNumber, aRate, aSize, aSwitch, aUrl, onOrOff } from "./kinds.ts";
import {
  defaultAdminListen,
  oneOf,
  type Parser,
  parseChoice,
  parseCount,
  parseCredentials,
  parseDays,
  parseDuration,
  parseListen,
  parseListenOrOff,
  parseNames,
  parseQuotas,
  parseRatio,
  parseSecretKeys,
  parseTermsDocuments,
  parseTime,
  readSecret,
} from "./values.ts";

/**
 * One setting. Its key in the configuration file gives the flag (`--base-url`) and the variable (`PLATFORM_BASE_URL`).
 */
export interface Setting<T> {
  readonly help: string;
  /** Stands for the value in `--help`. Absent: the setting is a switch. */
  readonly placeholder?: string;
  readonly default: string | undefined;
  /** Whether its value must not be shown. A file that holds a secret is not secret itself. */
  readonly isSecret?: true;
  /** Whether a running server takes a new value at SIGHUP; `while set`: if it had one at its start. */
  readonly isReloadable?: true | "while set";
  readonly parse: Parser<T>;
}

/** The settings, in the order `--help` prints them. */
const table = {
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
    ...aDuration("60s"),
  },
  /** An empty database always gets its tables. */
  autoMigrate: {
    help: "whether a start applies pending migrations: auto (on SQLite, which has one server), on, off",
    ...aChoice("auto", "auto", "on", "off"),
  },
  /** Without a trailing slash; undefined: derived from `listen`. */
  baseUrl: { help: "URL at which clients reach the server", ...aUrl },
  issuer: {
    help: "issuer of the platform's own tokens, fixed when the database is initialised (default: the base URL)",
    ...aUrl,
  },
  /** Undefined: the token is printed on a terminal. */
  initTokenFile: {
    help: "file to write the first administrator's token to, when the start initialises the database",
    ...aFile,
  },
  tlsCert: { help: "PEM file of the certificate chain; enables TLS", isReloadable: "while set", ...aFile },
  tlsKey: { help: "PEM file of the certificate's private key", isReloadable: "while set", ...aFile },
  tlsClientCa: {
    help: "PEM file of the authorities that sign certificates of clients; clients are then asked for one",
    isReloadable: "while set",
    ...aFile,
  },
  tlsClientAuth: {
    help: "with --tls-client-ca, whether clients without a certificate are refused: required, or optional",
    ...aChoice("required", "required", "optional"),
  },
  tlsClientIdentities: {
    help: "with --tls-client-ca, whether a certificate stands for a bearer token in calls without one: on or off",
    ...onOrOff("off"),
  },
  serviceHost: {
    help: "host part of error domains and resource types",
    placeholder: "NAME",
    default: "platform.internal",
    parse: oneOf(/^[a-z0-9]([a-z0-9.-]{0,200}[a-z0-9])?$/, "a host name"),
  },
  /** For servers without a common database. */
  pageTokenKey: {
    help: "key that encrypts page tokens, 64 hex digits (default: a key stored in the database)",
    ...aKey,
  },
  /** The keys of secrets in the database. The first seals, all open. */
  secretKey: {
    help: "key that encrypts secrets in the database, 64 hex digits, or `database` for the one stored in it; others, separated by commas, only decrypt",
    placeholder: "HEX[,HEX]",
    default: "database",
    isSecret: true,
    parse: parseSecretKeys,
  },
  signingKey: {
    help: "file of the keys that sign the platform's own tokens, in PEM or as JSON Web Keys, or its content; the first signs (default: keys stored in the database)",
    isSecret: true,
    ...aFile,
  },
  allowLoopbackIssuers: { help: "accept token issuers at http://localhost (for tests)", ...aSwitch },
  maxPatterns: {
    help: "maximum number of patterns in the identities of an organisation",
    isReloadable: true,
    ...aNumber("200", 0, 99_999),
  },
  reservedClients: {
    help: "identity providers that alone sign users of a client in for the first time, where several have its issuer and id",
    placeholder: "URL=CLIENT_ID=PROVIDER_UID,…",
    default: "",
    isReloadable: true,
    parse: parseReservedClients,
  },
  allowLoopbackSinks: { help: "send events to sinks at http://localhost (for tests and trials)", ...aSwitch },
  openRootGroups: { help: "allow every root-level identity to create root groups", ...aSwitch },
  /** Undefined: documents with neutral names. */
  termsDocuments: {
    help: "legal documents that groups can accept: a JSON list of {id, label, url}, or a file with one",
    placeholder: "JSON|FILE",
    default: undefined,
    parse: parseTermsDocuments,
  },
  /** Empty: CORS is off. */
  corsOrigins: {
    help: "origins that may call from a browser, comma-separated",
    placeholder: "LIST",
    default: "",
    isReloadable: true,
    parse: (value): readonly string[] => value.split(",").flatMap((origin) => origin.trim() || []),
  },
  auditRetentionDays: {
    help: "days to keep the audit log (default: 400; forever in databases that were initialised before there was a default)",
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
  adminListen: {
    help: `address that answers /livez, /readyz, /metrics and /debug however busy the server is, or off (default: ${defaultAdminListen.host}:${defaultAdminListen.port}, if it is free)`,
    placeholder: "HOST:PORT|off",
    default: undefined,
    parse: parseListenOrOff,
  },
  adminDebug: {
    help: "who gets heap snapshots and CPU profiles there: loopback clients of a loopback address, off for nobody, on for everybody",
    ...aChoice("loopback", "off", "loopback", "on"),
  },
  metrics: { help: "metrics in the Prometheus format, at the admin address: on or off", ...onOrOff("on") },
  /** Undefined: as the server is probed. */
  drainDelay: {
    help: "how long a stopping server continues to serve, unready, until balancers have left, and then how long idle connections stay open; auto: 5s if it was probed lately, else 0",
    placeholder: "DURATION|auto",
    default: "auto",
    parse: (value: string) => (value === "auto" ? undefined : parseDuration(value)),
  },
  workers: {
    help: "number of processes that share the port; auto for the number of cores",
    placeholder: "NUMBER|auto",
    default: "1",
    parse: Object.assign((value: string) => (value === "auto" ? availableParallelism() : parseCount(1, 64)(value)), {
      schema: { ...parseCount(1, 64).schema, type: ["integer", "string"], pattern: "^auto$" },
    }),
  },
  ...connectionSettings,
  registryUrl: { help: "registry whose notifications are accepted at /registry/notifications", ...aUrl },
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
  registrySboms: { help: "import the bills of materials that a registry has of its images", ...onOrOff("on") },
  maxRequestBytes: {
    help: "maximum size of a request body or message, in bytes, before and after decompression",
    ...aSize("1048576", 16 * 1024, 64 * 1024 * 1024),
  },
  maxUrlBytes: {
    help: "maximum length of the URL of a REST request, in bytes",
    ...aSize("8192", 1024, 1024 * 1024),
  },
  maxHeaderBytes: {
    help: "maximum size of the header fields of a request, in bytes, including its URL",
    ...aSize("16384", 4096, 1024 * 1024),
  },
  maxPendingBodyBytes: {
    help: "maximum memory for request bodies that are being received, in bytes; one connection may use an eighth of it",
    ...aSize("67108864", 1024 * 1024, 999_999_999),
  },
  http2: {
    help: "HTTP/2 implementation: own, or node for that of Node.js",
    ...aChoice("own", "own", "node"),
  },
  fastPath: { help: "fast path for unary calls: on or off", ...onOrOff("on") },
  generatedCode: {
    help: "codecs generated for each message type: on, or off for those of the protobuf library",
    ...onOrOff("on"),
  },
  gcTuning: { help: "garbage collection tuned for short pauses: on or off", ...onOrOff("on") },
  pages: { help: "front page, API reference and OpenAPI documents: on or off", ...onOrOff("on") },
  consoleIssuers: {
    help: "OpenID providers to sign in with at the console, each with the id of the console's client there and, if there are several, the uid of the identity provider",
    placeholder: "URL=CLIENT_ID[=PROVIDER_UID],…",
    default: "",
    parse: parseConsoleIssuers,
  },
  v1MaxListItems: {
    help: "maximum number of items of a list that the v1 API answers whole",
    placeholder: "COUNT",
    default: "200000",
    isReloadable: true,
    parse: parseCount(1, 10_000_000),
  },
  /** By kind; a kind that is absent is unlimited. */
  quotas: {
    help: "how much an organisation can have: groups=100,repos=unlimited; others keep their defaults, see docs/limits.md",
    placeholder: "LIST",
    default: "",
    isReloadable: true,
    parse: parseQuotas,
  },
  rateLimitRead: { help: "rate limit of a caller's calls that read", ...aRate("5000/20000") },
  rateLimitList: { help: "rate limit of a caller's lists", ...aRate("1000/5000") },
  rateLimitWrite: { help: "rate limit of a caller's calls that write", ...aRate("1000/10000") },
  rateLimitExchange: { help: "rate limit of token exchanges, for each address", ...aRate("50/1000") },
  rateLimitAddress: {
    help: "rate limit of requests without a token that is known to be valid, for each address",
    ...aRate("500/10000"),
  },
  /** Calls that are answered at once do not count. */
  maxCalls: {
    help: "maximum number of calls under way; those beyond it are refused as UNAVAILABLE",
    isReloadable: true,
    ...aNumber("2000", 1, 1_000_000),
  },
  maxQueueDelay: {
    help: "how long requests may wait for their turn; while one has waited longer, new ones are refused as UNAVAILABLE",
    isReloadable: true,
    ...aDuration("1s"),
  },
  maxLongQueries: {
    help: "maximum number of long list queries at once: reader threads on SQLite, connections (up to a quarter) on PostgreSQL; 0 runs them like any other (default: the number of cores)",
    ...aNumber(String(availableParallelism()), 0, 64),
  },
  databaseConnections: {
    help: "maximum number of connections of a process to PostgreSQL (default: 16 and 4 for each core, up to 48)",
    ...aNumber(String(Math.min(48, 16 + 4 * availableParallelism())), 8, 1000),
  },
  databaseQueue: {
    help: "maximum number of calls that wait for a connection to PostgreSQL; those beyond it are refused as UNAVAILABLE",
    ...aNumber("1000", 0, 1_000_000),
  },
  databaseQueueWait: {
    help: "how long a call may wait for a connection to PostgreSQL before it is refused as UNAVAILABLE",
    ...aDuration("2s"),
  },
  databasePreparedStatements: {
    help: "whether statements stay prepared on connections to PostgreSQL: on, off, or auto: unless a pooler stands before it; on behind PgBouncer only if it keeps them (max_prepared_statements)",
    placeholder: "WHEN",
    default: "auto",
    parse: parseChoice("auto", "on", "off"),
  },
  logLevel: {
    help: `minimum severity of log lines: ${logLevels.join(", ")}`,
    placeholder: "LEVEL",
    default: "info",
    isReloadable: true,
    parse: parseChoice(...logLevels),
  },
  logFormat: {
    help: "format of log lines: json, text for people, or auto: text on a terminal, else json",
    placeholder: "auto|text|json",
    default: "auto",
    parse: parseChoice(...logFormats),
  },
  slowCall: {
    help: "how long a call may take before the log says where its time went; 0 for never",
    isReloadable: true,
    ...aDuration("1s"),
  },
  otlpEndpoint: { help: "collector to send traces to by OTLP over HTTP (default: none)", ...aUrl },
  traceSampling: {
    help: "share of calls to trace, from 0 to 1, besides those whose callers are traced",
    placeholder: "RATIO",
    default: "0.01",
    parse: parseRatio,
  },
  traceBaggage: { help: "members of baggage that are passed on", placeholder: "LIST", default: "", parse: parseNames },
  ephemeral: {
    help: "run a stand-in for tests: everything in memory, at any free port, without rate limits; see docs/contract-testing.md",
    ...aSwitch,
  },
  seed: {
    help: "with --ephemeral, documents to apply before the first call, as `platform apply -f` takes them",
    ...aFile,
  },
  /** In milliseconds since 1970; undefined: it goes. */
  clock: {
    help: "with --ephemeral, the time at which the server's clock stands still: 2026-01-01T00:00:00Z",
    placeholder: "TIME",
    default: undefined,
    parse: parseTime,
  },
  /** Undefined: uids are random. */
  uidSeed: {
    help: "with --ephemeral, makes uids predictable: the same calls get the same uids",
    ...aNumber(undefined, 0, 999_999_999),
  },
  readyFile: {
    help: "with --ephemeral, file to write the base URL, the administrator's token and the root group to, as JSON, once it takes calls",
    ...aFile,
  },
} satisfies Readonly<Record<string, Setting<unknown>>>;

type Values<Table extends Readonly<Record<string, Setting<unknown>>>> = {
  readonly [Name in keyof Table]:
    | ReturnType<Table[Name]["parse"]>
    | (Table[Name]["default"] extends undefined ? undefined : never);
};

/** The values of all settings. Times are in milliseconds unless the name says otherwise. */
export interface Config extends Values<typeof table> {}

/** The settings, by name. */
export const settings: { readonly [Name in keyof Config]: Setting<Config[Name]> } = table;
