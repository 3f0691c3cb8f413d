/**
 * A database for one suite of whole-server tests, by its address: empty, or with the tables that a server would make
 * there first.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { copyPostgresql, copySqlite } from "../databases/migrated.ts";
import "../databases/postgres.ts";

/** A database without rows. */
export interface EmptyDatabase {
  readonly url: string;
  remove(): Promise<void>;
}

/** An empty SQLite file in a folder of its own. */
export async function emptySqlite(): Promise<EmptyDatabase> {
  const folder = await mkdtemp(join(tmpdir(), "platform-"));
  return { url: `sqlite:${join(folder, "platform.db")}`, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** The same with tables. */
export async function migratedSqlite(): Promise<EmptyDatabase> {
  const database = await emptySqlite();
  await copySqlite(database.url.slice("sqlite:".length));
  return database;
}

/** An empty database at a PostgreSQL server. */
export function emptyPostgres(server: string): Promise<EmptyDatabase> {
  return createPostgres(server, "");
}

/** The same with tables. */
export function migratedPostgres(server: string): Promise<EmptyDatabase> {
  return createPostgres(server, copyPostgresql());
}

async function createPostgres(server: string, how: string): Promise<EmptyDatabase> {
  const name = `platform_test_${randomBytes(6).toString("hex")}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await execute(server, `create database ${name} ${how}`);
  return { url: url.href, remove: () => execute(server, `drop database ${name} with (force)`) };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
