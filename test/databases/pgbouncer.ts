/** PgBouncer, from Debian's package, before the PostgreSQL server of the tests. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../free-port.ts";

/** It refuses to run as root. */
const nobody = 65_534;

/** Whether it is installed. */
export const hasPgbouncer = spawnSync("pgbouncer", ["--version"]).status === 0;

/** A running pooler. */
export interface Pgbouncer {
  /** The URL of the database through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a pooler with at most `poolSize` connections to the database at `url`. */
export async function startPgbouncer(url: string, mode: string, poolSize: number): Promise<Pgbouncer> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), "platform-pgbouncer-"));
  const ownPort = await freePort();
  const file = join(folder, "pgbouncer.ini");
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 500
logfile = ${join(folder, "log")}
`,
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(folder, nobody, nobody);
  const child = spawn("pgbouncer", ["-q", file], { stdio: "ignore", ...(isRoot && { uid: nobody, gid: nobody }) });
  const pooled = `postgres://${username}@127.0.0.1:${ownPort}${pathname}`;
  await answers(pooled, child);
  return {
    url: pooled,
    async stop() {
      child.kill("SIGKILL");
      await once(child, "exit");
      await rm(folder, { recursive: true });
    },
  };
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (let triesLeft = 100; ; triesLeft--) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (triesLeft === 0 || child.exitCode !== null) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
