/**
 * One database of each kind with the tables of this version, made once for a run. Tests copy it, since to make the
 * tables takes longer than most of them. How an empty database gets its tables is tested on its own.
 */
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { inject, type ProvidedContext } from "vitest";
import type { TestProject } from "vitest/node";
import { openDatabase } from "../../src/store/index.ts";
import "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the SQLite file, and the name of the database where PostgreSQL is. */
    migrated: { readonly sqlite: string; readonly postgresql: string };
  }
}

/** Started by vitest before the first file, and after `postgres.ts`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "platform-migrated-"));
  const names = {
    sqlite: join(folder, "platform.db"),
    postgresql: `platform_test_migrated_${process.pid}_${project.name}`,
  };
  const postgres = project.getProvidedContext().postgres;
  await migrate(`sqlite:${names.sqlite}`);
  if ("url" in postgres) {
    await execute(postgres.url, `create database ${names.postgresql}`);
    const url = new URL(postgres.url);
    url.pathname = `/${names.postgresql}`;
    await migrate(url.href);
  }
  project.provide("migrated", names);
  return async () => {
    await rm(folder, { recursive: true });
    if ("url" in postgres) await execute(postgres.url, `drop database ${names.postgresql} with (force)`);
  };
}

/** The file in a project that is not set up with these databases: each of its workers makes one. */
let ofWorker: Promise<Buffer> | undefined;

/** Makes a SQLite file of the database. */
export async function copySqlite(path: string): Promise<void> {
  const made = inject("migrated") as ProvidedContext["migrated"] | undefined;
  if (made !== undefined) return copyFile(made.sqlite, path);
  ofWorker ??= makeSqlite();
  await writeFile(path, await ofWorker);
}

async function makeSqlite(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "platform-migrated-"));
  const path = join(folder, "platform.db");
  await migrate(`sqlite:${path}`);
  return readFile(path).finally(() => rm(folder, { recursive: true }));
}

/** What is added to `create database` so that the new one is a copy. */
export function copyPostgresql(): string {
  return `template ${inject("migrated").postgresql} strategy file_copy`;
}

async function migrate(url: string): Promise<void> {
  const database = await openDatabase(url);
  await database.migrate();
  await database.close();
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
