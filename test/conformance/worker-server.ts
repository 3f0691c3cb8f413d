/** A server of several processes, for suites that are run with `TEST_WORKERS`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type RunningServer, readInstallation } from "../../src/app/index.ts";
import { createIssuer } from "../../src/auth/index.ts";
import type { Config } from "../../src/config/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { startPlatform } from "../cli/platform-process.ts";

/** How many processes serve; 1 serves in the process of the tests. */
export const testWorkers = Number(process.env.TEST_WORKERS ?? 1);

/** The settings whose values are milliseconds. */
const durations = new Set<string>([
  "databaseWait",
  "drainDelay",
  "http2IdleTimeout",
  "keepAliveTimeout",
  "maxQueueDelay",
]);

/** The settings whose values are in files. */
const secrets = new Set<string>(["registrySecret", "registryCredentials"]);

/** Starts it with settings as the command line would read them from a file. */
export async function startWorkers(config: Config): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), "platform-workers-"));
  const file = join(folder, "settings.json");
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries({ ...config, workers: testWorkers })) {
    const text = textOf(key, value);
    if (text === undefined) continue;
    texts[key] = secrets.has(key) ? join(folder, key) : text;
    if (secrets.has(key)) await writeFile(texts[key], text, { mode: 0o600 });
  }
  await writeFile(file, JSON.stringify(texts));
  const wasEmpty = (await readOf(config.database)) === undefined;
  const server = await startPlatform(["--config", file]);
  const installation = (await readOf(config.database))!;
  const issuer = await createIssuer({
    issuer: installation.issuerUrl,
    keys: installation.signingKeys,
    readKeys: async () => (await readOf(config.database))!.signingKeys,
    clock: Date.now,
  });
  return {
    baseUrl: config.baseUrl ?? server.baseUrl,
    listenUrl: server.baseUrl,
    adminPort: undefined,
    installed: wasEmpty ? installation : undefined,
    mintToken: (subject, ttlSeconds) => issuer.mint({ subject, ttlSeconds }),
    async stop() {
      expect(await server.end("SIGTERM")).toBe(0);
      const lines = server.stderr().split("\n");
      expect(lines.filter((line) => line.startsWith('{"level":"error"'))).toEqual([]);
      await rm(folder, { recursive: true });
    },
  };
}

async function readOf(url: string) {
  const database = await openDatabase(url);
  try {
    return (await database.pendingMigrations()).length > 0 ? undefined : await readInstallation(database.read);
  } finally {
    await database.close();
  }
}

/** The text of a setting; undefined for one without a value. */
function textOf(key: string, value: unknown): string | undefined {
  if (value === undefined) return key.startsWith("rateLimit") ? "off" : undefined;
  if (durations.has(key)) return `${value}ms`;
  if (Buffer.isBuffer(value)) return value.toString("hex");
  if (Array.isArray(value)) return typeof value[0] === "object" ? JSON.stringify(value) : value.join(",");
  if (typeof value !== "object" || value === null) return String(value);
  if ("host" in value && "port" in value) return `${value.host}:${value.port}`;
  if ("username" in value && "password" in value) return `${value.username}:${value.password}`;
  if ("perSecond" in value && "burst" in value) return `${value.perSecond}/${value.burst}`;
  return Object.entries(value)
    .map(([name, number]) => `${name}=${number}`)
    .join();
}
