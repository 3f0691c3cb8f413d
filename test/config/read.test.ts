import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, describe, expect, test, vi } from "vitest";
import { settingsOf, withSettings } from "../../src/cli/settings.ts";
import {
  baseUrlOf,
  type Config,
  ConfigError,
  type ConfigSources,
  flagOf,
  readConfig,
  settings,
  variableOf,
} from "../../src/config/index.ts";
import { defaultQuotas } from "../../src/quotas.ts";

const folder = mkdtempSync(join(tmpdir(), "platform-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

function read(sources: Partial<ConfigSources> = {}): Config {
  return readConfig({ flags: {}, env: {}, warn: (message) => expect.fail(message), ...sources });
}

function fileOf(content: string): string {
  const path = join(folder, `${Math.random()}.json`);
  writeFileSync(path, content);
  return path;
}

test("the defaults", () => {
  expect(read()).toEqual({
    listen: { host: "127.0.0.1", port: 8080 },
    database: "sqlite:./data/platform.db",
    autoMigrate: "auto",
    databaseWait: 60_000,
    baseUrl: undefined,
    issuer: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    secretKey: ["database"],
    tlsClientAuth: "required",
    tlsClientIdentities: "off",
    serviceHost: "platform.internal",
    pageTokenKey: undefined,
    adminListen: undefined,
    adminDebug: "loopback",
    metrics: "on",
    allowLoopbackIssuers: false,
    maxPatterns: 200,
    reservedClients: [],
    consoleIssuers: [],
    v1MaxListItems: 200_000,
    quotas: defaultQuotas,
    rateLimitRead: { perSecond: 5000, burst: 20_000 },
    rateLimitList: { perSecond: 1000, burst: 5000 },
    rateLimitWrite: { perSecond: 1000, burst: 10_000 },
    rateLimitExchange: { perSecond: 50, burst: 1000 },
    rateLimitAddress: { perSecond: 500, burst: 10_000 },
    maxCalls: 2000,
    workers: 1,
    trustedProxies: [],
    forwardedHeader: "x-forwarded-for",
    registrySboms: "on",
    proxyProtocol: "off",
    maxConnections: 10_000,
    keepAliveTimeout: 75_000,
    http2IdleTimeout: 300_000,
    hsts: "on",
    adminHosts: [],
    maxQueueDelay: 1000,
    maxLongQueries: availableParallelism(),
    databaseConnections: Math.min(48, 16 + 4 * availableParallelism()),
    databaseQueue: 1000,
    databaseQueueWait: 2000,
    databasePreparedStatements: "auto",
    allowLoopbackSinks: false,
    openRootGroups: false,
    corsOrigins: [],
    eventRetentionDays: 30,
    maxRequestBytes: 1_048_576,
    maxUrlBytes: 8192,
    maxHeaderBytes: 16_384,
    maxPendingBodyBytes: 67_108_864,
    http2: "own",
    fastPath: "on",
    generatedCode: "on",
    gcTuning: "on",
    pages: "on",
    logLevel: "info",
    logFormat: "auto",
    slowCall: 1000,
    otlpEndpoint: undefined,
    traceSampling: 0.01,
    traceBaggage: [],
    ephemeral: false,
  });
});

test.each([
  ["listen", "--listen", "PLATFORM_LISTEN"],
  ["baseUrl", "--base-url", "PLATFORM_BASE_URL"],
  ["allowLoopbackIssuers", "--allow-loopback-issuers", "PLATFORM_ALLOW_LOOPBACK_ISSUERS"],
] as const)("%s is %s and %s", (key, flag, variable) => {
  expect([flagOf(key), variableOf(key)]).toEqual([flag, variable]);
});

describe("values", () => {
  test.each<[keyof Config, string, unknown]>([
    ["listen", "0.0.0.0:443", { host: "0.0.0.0", port: 443 }],
    ["listen", "localhost:0", { host: "localhost", port: 0 }],
    ["listen", "[::1]:8080", { host: "::1", port: 8080 }],
    ["listen", ":9000", { host: "127.0.0.1", port: 9000 }],
    ["listen", "9000", { host: "127.0.0.1", port: 9000 }],
    ["database", "sqlite:/var/lib/platform.db", "sqlite:/var/lib/platform.db"],
    ["database", "postgres://user:secret@db/platform", "postgres://user:secret@db/platform"],
    ["database", "postgresql://db/platform", "postgresql://db/platform"],
    ["databaseWait", "90s", 90_000],
    ["databaseWait", "5m", 300_000],
    ["databaseWait", "1h", 3_600_000],
    ["databaseWait", "250ms", 250],
    ["databaseWait", "7", 7000],
    ["baseUrl", "https://api.example.com/", "https://api.example.com"],
    ["baseUrl", "https://api.example.com/platform//", "https://api.example.com/platform"],
    ["issuer", "http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["serviceHost", "platform.example.com", "platform.example.com"],
    ["pageTokenKey", "aB".repeat(32), Buffer.alloc(32, 0xab)],
    ["openRootGroups", "true", true],
    ["maxRequestBytes", "16384", 16_384],
    ["maxUrlBytes", "1048576", 1_048_576],
    ["maxHeaderBytes", "4096", 4096],
    ["corsOrigins", " https://a.example , https://b.example,, ", ["https://a.example", "https://b.example"]],
    ["logLevel", "silent", "silent"],
    ["logFormat", "text", "text"],
    ["slowCall", "0", 0],
  ])("%s %s", (key, text, value) => {
    expect(read({ flags: { [key]: text } })[key]).toEqual(value);
    expect(read({ env: { [variableOf(key)]: text } })[key]).toEqual(value);
    expect(read({ file: fileOf(JSON.stringify({ [key]: text })) })[key]).toEqual(value);
  });

  test.each<[keyof Config, string]>([
    ["listen", ""],
    ["listen", "127.0.0.1"],
    ["listen", "127.0.0.1:65536"],
    ["listen", "127.0.0.1:http"],
    ["listen", "::1:8080"],
    ["listen", "http://127.0.0.1:8080"],
    ["databaseWait", "-1s"],
    ["databaseWait", "1.5s"],
    ["databaseWait", "1d"],
    ["database", ""],
    ["database", "sqlite:"],
    ["database", "./platform.db"],
    ["database", "mysql://db/platform"],
    ["baseUrl", "api.example.com"],
    ["baseUrl", "ftp://api.example.com"],
    ["baseUrl", "https://api.example.com?x=1"],
    ["baseUrl", "https://api.example.com#x"],
    ["baseUrl", "https://user@api.example.com"],
    ["issuer", ""],
    ["serviceHost", "Platform.Example"],
    ["serviceHost", "-platform"],
    ["pageTokenKey", "ab".repeat(31)],
    ["pageTokenKey", "xy".repeat(32)],
    ["openRootGroups", "yes"],
    ["maxRequestBytes", "16383"],
    ["maxRequestBytes", "1MiB"],
    ["maxHeaderBytes", "1048577"],
    ["logLevel", "INFO"],
    ["logFormat", "pretty"],
    ["logLevel", "trace"],
  ])("%s %j is refused, with its origin", (key, text) => {
    const file = fileOf(JSON.stringify({ [key]: text }));
    for (const [sources, origin] of [
      [{ flags: { [key]: text } }, flagOf(key)],
      [{ env: { [variableOf(key)]: text } }, variableOf(key)],
      [{ file }, `${file}: ${key}`],
    ] as const) {
      expect(() => read(sources)).toThrow(ConfigError);
      expect(() => read(sources)).toThrow(`${origin}: must be `);
    }
  });

  test.each(["127.0.0.1:65536", "65536", "[::1]:100000"])(
    "a port out of range, %s, says what ports there are",
    (listen) => {
      expect(() => read({ flags: { listen } })).toThrow("--listen: must be HOST:PORT with a port from 0 to 65535");
    },
  );

  test("a secret that is refused is not repeated", () => {
    expect(() => read({ flags: { pageTokenKey: "5ecre7" } })).toThrow(/^(?!.*5ecre7)/);
    expect(() => read({ flags: { database: "mysql://user:5ecre7@db" } })).toThrow(/^(?!.*5ecre7)/);
  });
});

describe("precedence", () => {
  const file = fileOf('{"logLevel":"error","serviceHost":"by-file","openRootGroups":true,"listen":9000}');
  const env = { PLATFORM_LOG_LEVEL: "warn", PLATFORM_SERVICE_HOST: "by-variable" };

  test("flag, variable, file, default", () => {
    expect(read({ file, env, flags: { logLevel: "debug" } })).toMatchObject({
      logLevel: "debug",
      serviceHost: "by-variable",
      openRootGroups: true,
      listen: { port: 9000 },
      corsOrigins: [],
    });
  });

  test("a value that another takes precedence over is not parsed", () => {
    expect(read({ flags: { logLevel: "debug" }, env: { PLATFORM_LOG_LEVEL: "nonsense" } }).logLevel).toBe("debug");
  });
});

describe("the file", () => {
  test.each([
    ["{", "JSON"],
    ["[]", "not a JSON object"],
    ["null", "not a JSON object"],
    ['"text"', "not a JSON object"],
    ['{"lisen":"127.0.0.1:0"}', 'unknown key "lisen"; did you mean listen?'],
    ['{"base_url":"http://x"}', 'unknown key "base_url"'],
    ['{"__proto__":"x"}', 'unknown key "__proto__"'],
    ['{"listen":null}', '"listen" must be a string, number or boolean'],
    ['{"corsOrigins":["https://a.example"]}', '"corsOrigins" must be a string, number or boolean'],
  ])("%s is refused", (content, message) => {
    const path = fileOf(content);
    expect(() => read({ file: path })).toThrow(ConfigError);
    expect(() => read({ file: path })).toThrow(message);
    expect(() => read({ file: path })).toThrow(path);
  });

  test("must be there", () => {
    expect(() => read({ file: join(folder, "missing.json") })).toThrow(/missing\.json: ENOENT/);
  });
});

test("a certificate and its key go together", () => {
  expect(() => read({ flags: { tlsCert: "cert.pem" } })).toThrow("--tls-cert and --tls-key must be set together");
  expect(() => read({ env: { PLATFORM_TLS_KEY: "key.pem" } })).toThrow("--tls-cert and --tls-key must be set together");
  expect(read({ flags: { tlsCert: "cert.pem" }, env: { PLATFORM_TLS_KEY: "key.pem" } }).tlsCert).toBe("cert.pem");
});

test("certificates of clients need the authorities, and TLS", () => {
  expect(() => read({ flags: { tlsClientCa: "ca.pem" } })).toThrow("--tls-client-ca needs --tls-cert");
  expect(() => read({ flags: { tlsClientIdentities: "on" } })).toThrow(
    "--tls-client-identities=on needs --tls-client-ca",
  );
});

test("unknown PLATFORM_ variables are reported, others are not", () => {
  const warnings: string[] = [];
  read({
    env: {
      PLATFORM_LISTN: "x",
      PLATFORM_DATABASE_URL: "x",
      PLATFORM_PORT_8080_TCP_ADDR: "x",
      PLATFORM_CONFIG: "x.json",
      PLATFORM_SERVER: "http://127.0.0.1:8080",
      PLATFORM_TOKEN: "x",
      PLATFORM_PROFILE: "x",
      PLATFORM_CLIENT_SECRET: "x",
      PLATFORM_ID_TOKEN: "x",
      PLATFORM_ID_TOKEN_FILE: "x",
      PLATFORM_LOG_LEVEL: "info",
      HOME: "/",
    },
    warn: (message) => warnings.push(message),
  });
  expect(warnings).toEqual([
    "unknown environment variable PLATFORM_LISTN is ignored; did you mean PLATFORM_LISTEN?",
    "unknown environment variable PLATFORM_DATABASE_URL is ignored; did you mean PLATFORM_DATABASE?",
    "unknown environment variable PLATFORM_PORT_8080_TCP_ADDR is ignored",
  ]);
});

test("what Kubernetes injects for a service named platform is not a setting", () => {
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const link = { PLATFORM_SERVICE_HOST: "10.0.0.1", PLATFORM_SERVICE_PORT: "8080" };
  expect(read({ env: link, warn }).serviceHost).toBe("platform.internal");
  expect(warnings).toContainEqual(expect.stringContaining("PLATFORM_SERVICE_HOST is ignored"));
  expect(read({ env: { PLATFORM_SERVICE_HOST: "platform.example.com" } }).serviceHost).toBe("platform.example.com");
});

describe("the base URL", () => {
  test.each([
    [{}, { host: "127.0.0.1", port: 8080 }, "http://127.0.0.1:8080"],
    [{}, { host: "0.0.0.0", port: 80 }, "http://localhost:80"],
    [{}, { host: "::", port: 80 }, "http://localhost:80"],
    [{}, { host: "::1", port: 8080 }, "http://[::1]:8080"],
    [{ tlsCert: "cert.pem", tlsKey: "key.pem" }, { host: "127.0.0.1", port: 8443 }, "https://127.0.0.1:8443"],
    [{ baseUrl: "https://api.example.com/" }, { host: "127.0.0.1", port: 8080 }, "https://api.example.com"],
  ])("%j at %j is %s", (flags, address, expected) => {
    expect(baseUrlOf(read({ flags }), address)).toBe(expected);
  });
});

test("every setting has a help text, and a default that it accepts", () => {
  for (const [key, { help, default: byDefault, parse }] of Object.entries(settings)) {
    expect(help, key).not.toBe("");
    if (byDefault !== undefined) expect(() => parse(byDefault), key).not.toThrow();
  }
});

describe("--full-doors, which --http2 and --fast-path replace", () => {
  const off = { http2: "node", fastPath: "off" };
  test.each<[string, Partial<ConfigSources>, object]>([
    ["--full-doors", { flags: { fullDoors: "true" } }, off],
    ["PLATFORM_FULL_DOORS", { env: { PLATFORM_FULL_DOORS: "true" } }, off],
    ["fullDoors", { file: fileOf('{"fullDoors": true}') }, off],
    ["PLATFORM_FULL_DOORS", { env: { PLATFORM_FULL_DOORS: "false" } }, { http2: "own", fastPath: "on" }],
    ["--full-doors", { flags: { fullDoors: "true", http2: "own" } }, { http2: "own", fastPath: "off" }],
    [
      "--full-doors",
      { flags: { fullDoors: "true" }, env: { PLATFORM_FAST_PATH: "on" } },
      { http2: "node", fastPath: "on" },
    ],
  ])("%s is accepted, with a warning: %j", (name, sources, expected) => {
    const warnings: string[] = [];
    expect(read({ ...sources, warn: (message) => warnings.push(message) })).toMatchObject(expected);
    expect(warnings).toEqual([expect.stringContaining(`${name} is deprecated: use --http2=node and --fast-path=off`)]);
  });

  test("is a flag of serve that the help does not show", async () => {
    const warn = vi.spyOn(console, "error").mockReturnValue();
    const command = withSettings(new Command("serve"));
    expect(command.helpInformation()).not.toContain("--full-doors");
    expect(settingsOf(command.parse(["--full-doors"], { from: "user" }))).toMatchObject(off);
    expect(warn).toHaveBeenCalledWith("warning: --full-doors is deprecated: use --http2=node and --fast-path=off");
  });
});

test("--metrics-listen and --probe-listen are old names of --admin-listen; the latter holds", () => {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const flags = { metricsListen: "127.0.0.1:1", probeListen: "127.0.0.1:2" };
  expect(read({ flags, warn }).adminListen).toEqual({ host: "127.0.0.1", port: 2 });
  expect(warnings).toEqual([
    "--metrics-listen is deprecated: use --admin-listen=HOST:PORT, which answers probes and /metrics at one address",
    "--probe-listen is deprecated: use --admin-listen=HOST:PORT, which answers probes and /metrics at one address",
  ]);
  expect(read({ flags: { ...flags, adminListen: "off" }, warn }).adminListen).toBe("off");
  expect(() => read({ flags: { probeListen: "x" }, warn })).toThrow('--probe-listen: must be HOST:PORT, not "x"');
  expect(() => read({ flags: { adminListen: "x" }, warn })).toThrow('--admin-listen: must be HOST:PORT, not "x"');
});

const provider = `${"0a".repeat(20)}/${"1b".repeat(8)}`;

describe("the issuers of the console", () => {
  const read = (consoleIssuers: string) =>
    readConfig({ flags: { consoleIssuers }, env: {}, warn: () => {} }).consoleIssuers;

  test("are URLs with client ids, and identity providers", () => {
    expect(read("https://login.example.com/t/=a:b, http://127.0.0.1:9=c=d")).toEqual([
      { issuer: "https://login.example.com/t/", clientId: "a:b" },
      { issuer: "http://127.0.0.1:9", clientId: "c=d" },
    ]);
    expect(read(`https://login.example.com=a=${provider} ,https://login.example.com=b==${provider}`)).toEqual([
      { issuer: "https://login.example.com", clientId: "a", provider },
      { issuer: "https://login.example.com", clientId: "b=", provider },
    ]);
    expect(read("")).toEqual([]);
  });

  test.each(["https://login.example.com", "http://login.example.com=a", "https://u:p@x.example=a", "https://x?y=a"])(
    "%s is refused",
    (text) => {
      expect(() => read(text)).toThrow("--console-issuers: must be a list of URL=CLIENT_ID");
    },
  );
});

describe("reserved clients", () => {
  const read = (reservedClients: string) =>
    readConfig({ flags: { reservedClients }, env: {}, warn: () => {} }).reservedClients;
  const issuer = "https://login.example.com/t";

  test("are clients of issuers with an identity provider", () => {
    expect(read(`${issuer}=a=${provider}, ${issuer}=b=c=${provider}`)).toEqual([
      { issuer, clientId: "a", provider },
      { issuer, clientId: "b=c", provider },
    ]);
    expect(read("")).toEqual([]);
  });

  test.each([`${issuer}=a`, `${issuer}=a=${provider.slice(0, 40)}`, `${issuer}=a=${provider}/${"1".repeat(16)}`, "a"])(
    "%s is refused",
    (text) => {
      expect(() => read(text)).toThrow("--reserved-clients: must be a list of URL=CLIENT_ID=PROVIDER_UID");
    },
  );

  test("are reserved once", () => {
    const other = provider.replace("0a", "0b");
    expect(() => read(`${issuer}=a=${provider},${issuer}=a=${other}`)).toThrow(`reserves ${issuer}=a twice`);
    expect(read(`${issuer}=a=${provider},${issuer}=b=${other}`)).toHaveLength(2);
  });
});
