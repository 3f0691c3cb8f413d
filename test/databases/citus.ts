/**
 * Databases on the Citus cluster at TEST_CITUS_URL: its coordinator, in a database with the extension that knows the
 * workers. The user must be allowed to create databases and extensions on all of them.
 */
import { randomBytes } from "node:crypto";
import { describe } from "vitest";
import { tenantTables } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { runSql } from "./run-sql.ts";

/** A database with the tables of this version, distributed. */
export interface CitusDatabase {
  readonly url: string;
  sql(text: string): Promise<Record<string, unknown>[]>;
  remove(): Promise<void>;
}

/** The number of shards of a table. */
export const shards = 4;

const cluster = process.env.TEST_CITUS_URL ?? "";

/** Whether there is a cluster. */
export const hasCitus = cluster !== "";

/** Declares a suite on the cluster, skipped where there is none. */
export function onCitus(title: string, suite: () => void): void {
  if (hasCitus) describe(`${title} (citus)`, suite);
  else describe.skip(`${title} (citus, skipped: TEST_CITUS_URL is not set)`, suite);
}

/** Creates a database on every node. */
export async function createCitus(): Promise<CitusDatabase> {
  const name = `platform_test_${randomBytes(6).toString("hex")}`;
  const workers = await runSql(
    cluster,
    "select nodename, nodeport from pg_dist_node where noderole = 'primary' and shouldhaveshards",
  );
  const servers = [cluster, ...workers.map(({ nodename, nodeport }) => at(cluster, `${nodename}:${nodeport}`))];
  const urls = servers.map((server) => database(server, name));
  await Promise.all(
    servers.map(async (server, i) => {
      await runSql(server, `create database ${name}`);
      await runSql(urls[i]!, "create extension citus; create extension pg_trgm");
    }),
  );
  const [url] = urls;
  const { hostname, port } = new URL(cluster);
  await runSql(url!, `select citus_set_coordinator_host('${hostname}', ${port || 5432})`);
  for (const { nodename, nodeport } of workers) await runSql(url!, `select citus_add_node('${nodename}', ${nodeport})`);
  await runSql(url!, `alter database ${name} set citus.shard_count = ${shards}`);
  await migrate(url!);
  return {
    url: url!,
    sql: (text) => runSql(url!, text),
    remove: async () => {
      await runSql(url!, "drop extension citus cascade");
      await Promise.all(servers.map((server) => runSql(server, `drop database ${name} with (force)`)));
    },
  };
}

async function migrate(url: string): Promise<void> {
  const opened = await openDatabase(url);
  await opened.migrate();
  await opened.distribute(tenantTables);
  await opened.close();
}

function at(url: string, host: string): string {
  const moved = new URL(url);
  moved.host = host;
  return moved.href;
}

function database(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
