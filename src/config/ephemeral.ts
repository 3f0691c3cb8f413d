/** The settings of a stand-in for tests: a server that keeps nothing, and that can be made predictable. */
import type { Config } from "./settings.ts";

/** The settings that only a stand-in has. */
export const standInOnly = ["seed", "clock", "uidSeed", "readyFile"] as const satisfies readonly (keyof Config)[];

/** The database of a stand-in. */
export const memoryDatabase = "sqlite::memory:";

/** `iss` of a stand-in whose uids are seeded: uids of users are derived from it, and its port is any free one. */
const fixedIssuer = "http://platform.localhost";

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
