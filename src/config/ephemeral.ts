/** The settings of a stand-in for tests: a server that keeps nothing, and that can be made predictable. */
import { type Config, parseCount, parseSwitch, parseTime } from "./values.ts";

/** The settings that only a stand-in has. */
export const standInOnly = ["seed", "clock", "uidSeed", "readyFile"] as const satisfies readonly (keyof Config)[];

/** The database of a stand-in. */
export const memoryDatabase = "sqlite::memory:";

/** `iss` of a stand-in whose uids are seeded: uids of users are derived from it, and its port is any free one. */
const fixedIssuer = "http://platform.localhost";

/** The settings of a stand-in, for the table of settings. */
export const ephemeralSettings = {
  ephemeral: {
    help: "run a stand-in for tests: everything in memory, at any free port, without rate limits; see docs/contract-testing.md",
    default: "false",
    parse: parseSwitch,
  },
  seed: {
    help: "with --ephemeral, documents to apply before the first call, as `platform apply -f` takes them",
    placeholder: "FILE",
    default: undefined,
    parse: (path: string) => path,
  },
  clock: {
    help: "with --ephemeral, the time at which the server's clock stands still: 2026-01-01T00:00:00Z",
    placeholder: "TIME",
    default: undefined,
    parse: parseTime,
  },
  uidSeed: {
    help: "with --ephemeral, makes uids predictable: the same calls get the same uids",
    placeholder: "NUMBER",
    default: undefined,
    parse: parseCount(0, 999_999_999),
  },
  readyFile: {
    help: "with --ephemeral, file to write the base URL, the administrator's token and the root group to, as JSON, once it takes calls",
    placeholder: "FILE",
    default: undefined,
    parse: (path: string) => path,
  },
} as const;

/** The texts of other settings that `--ephemeral` stands for, unless they are given. */
export function ephemeralDefaults(hasUidSeed: boolean): Readonly<Partial<Record<keyof Config, string>>> {
  return {
    listen: "127.0.0.1:0",
    database: memoryDatabase,
    adminListen: "off",
    drainDelay: "0",
    allowLoopbackIssuers: "true",
    allowLoopbackSinks: "true",
    rateLimitRead: "off",
    rateLimitList: "off",
    rateLimitWrite: "off",
    rateLimitExchange: "off",
    rateLimitAddress: "off",
    logLevel: "warn",
    ...(hasUidSeed && { issuer: fixedIssuer }),
  };
}

/** What contradicts `--ephemeral`, or needs it. @param flag how a setting is named to people. */
export function ephemeralProblems(
  config: Config,
  isGiven: (name: keyof Config) => boolean,
  flag: (name: keyof Config) => string,
): string[] {
  if (!config.ephemeral) return standInOnly.filter(isGiven).map((name) => `${flag(name)} needs ${flag("ephemeral")}`);
  return [
    ...(config.database === memoryDatabase
      ? []
      : [`${flag("ephemeral")} takes no ${flag("database")} but ${memoryDatabase}`]),
    ...(config.workers === 1
      ? []
      : [`${flag("ephemeral")} takes one process, not ${config.workers} (${flag("workers")})`]),
  ];
}
