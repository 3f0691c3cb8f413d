/**
 * Databases with rows of every schema before the newest. Those of `older-schemas` are SQLite files, each made by a
 * server of that time through its API, with what it listed. The others are made of these:
 *
 * - A schema with which no server ended: the file of the nearest one before, migrated by today's migrations.
 * - PostgreSQL: today's migrations make the tables of the schema, then the rows of the file are copied, as the server of
 *   that time wrote them on SQLite.
 */
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { migrations } from "../../src/store/migrations/index.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import type { TestDatabase } from "../databases/databases.ts";
import { runMigrations } from "../databases/migrate-up-to.ts";
import type { Json } from "./contract.ts";

const folder = join(import.meta.dirname, "older-schemas");

/** What a list answered: everything, and how many the counters said that there are. */
export interface Listed {
  readonly totalCount: string;
  readonly items: readonly Json[];
}

/** Where an upgrade starts. */
export interface OlderSchema {
  /** The number of its last migration, and what is peculiar. */
  readonly title: string;
  /** The name of the file whose rows it has. */
  readonly file: string;
}

/** The schemas of which there are files. */
export const recordedSchemas: readonly OlderSchema[] = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => name.slice(0, -".json".length))
  .map((file) => ({ title: file, file }));

/** Every schema before the newest. */
export const olderSchemas: readonly OlderSchema[] = [
  ...recordedSchemas,
  ...migrations
    .slice(0, -1)
    .map(({ name }) => name.slice(0, 4))
    .filter((number) => recordedSchemas.every(({ title }) => title !== number))
    .map((title) => ({ title, file: recordedSchemas.findLast(({ file }) => file < title)!.file })),
].sort((a, b) => (a.title < b.title ? -1 : 1));

/** Makes it in an empty database. Returns the lists of the server that wrote the rows, by path. */
export async function makeOlder(
  { title, file }: OlderSchema,
  database: TestDatabase,
): Promise<Readonly<Record<string, Listed>>> {
  const isSqlite = database.name === "sqlite";
  const path = isSqlite ? database.url.slice("sqlite:".length) : join(await temporaryFolder(), "platform.db");
  await writeFile(path, gunzipSync(readFileSync(join(folder, `${file}.db.gz`))));
  using recorded = new DatabaseSync(path);
  const applied = new Set(
    recorded
      .prepare("select name from migrations")
      .all()
      .map(({ name }) => name),
  );
  if (!isSqlite) {
    await runMigrations(
      migrations.filter(({ name }) => applied.has(name)),
      database,
    );
    await copyRows(recorded, database);
  }
  if (title !== file)
    await runMigrations(
      migrations.filter(({ name }) => !applied.has(name) && name.slice(0, 4) <= title),
      database,
    );
  return JSON.parse(readFileSync(join(folder, `${file}.json`), "utf8")).lists;
}

/** Copies the rows of all tables but that of the migrations to PostgreSQL, whose columns decide on the types. */
async function copyRows(from: DatabaseSync, to: TestDatabase): Promise<void> {
  const tables = await to.sql(
    "select table_name as name from information_schema.tables where table_schema = current_schema() and table_name <> 'migrations'",
  );
  const inserts = tables.map(({ name }) => {
    const rows = JSON.stringify(from.prepare(`select * from ${name}`).all(), (_, value) =>
      value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : value,
    );
    return `insert into ${name} select * from json_populate_recordset(null::${name}, $rows$${rows}$rows$)`;
  });
  await to.sql(inserts.join(";\n"));
}
