/**
 * Databases with rows of every schema before the newest. Those of `older-schemas` were made by servers of that time, by
 * imports and calls: SQLite files, and the rows of PostgreSQL, each with what the server listed. The tables of
 * PostgreSQL are made by today's migrations. Where no server ended with a schema, the nearest one before is migrated to
 * it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { migrations } from "../../src/store/migrations/index.ts";
import type { TestDatabase } from "../databases/databases.ts";
import { runMigrations } from "../databases/migrate-up-to.ts";
import type { Json } from "./contract.ts";

const folder = join(import.meta.dirname, "older-schemas");

/** What lists answered, by path: everything, and how many the counters said that there are. */
export type Lists = Readonly<Record<string, Listed>>;

export interface Listed {
  readonly totalCount: string;
  readonly items: readonly Json[];
}

/** Where an upgrade starts. */
export interface OlderSchema {
  /** The number of its last migration, and what is peculiar. */
  readonly title: string;
  /** The schema of the server that wrote its rows. */
  readonly recorded: string;
}

/** The schemas that servers had. */
export const recordedSchemas: readonly OlderSchema[] = readdirSync(folder)
  .filter((name) => name.endsWith(".db.gz"))
  .map((name) => name.slice(0, -".db.gz".length))
  .map((title) => ({ title, recorded: title }));

/** Every schema before the newest. */
export const olderSchemas: readonly OlderSchema[] = [
  ...recordedSchemas,
  ...migrations
    .slice(0, -1)
    .map(({ name }) => name.slice(0, 4))
    .filter((number) => recordedSchemas.every(({ title }) => title !== number))
    .map((title) => ({ title, recorded: recordedSchemas.findLast((before) => before.title < title)!.title })),
].sort((a, b) => (a.title < b.title ? -1 : 1));

/** Makes one in an empty database. Returns what the server that wrote the rows listed. */
export async function makeOlder({ title, recorded }: OlderSchema, database: TestDatabase): Promise<Lists> {
  const lists = await (database.name === "sqlite" ? unpackFile : insertRows)(recorded, database);
  if (title === recorded) return lists;
  const rows = await database.sql("select name from migrations");
  const applied = new Set(rows.map(({ name }) => name));
  const missing = migrations.filter(({ name }) => !applied.has(name) && name.slice(0, 4) <= title);
  await runMigrations(missing, database);
  return lists;
}

async function unpackFile(recorded: string, { url }: TestDatabase): Promise<Lists> {
  await writeFile(url.slice("sqlite:".length), gunzipSync(readFileSync(join(folder, `${recorded}.db.gz`))));
  return JSON.parse(readFileSync(join(folder, `${recorded}.json`), "utf8")).lists;
}

/** The types of the columns tell what the JSON values of rows are. */
async function insertRows(recorded: string, database: TestDatabase): Promise<Lists> {
  const { rows, lists } = JSON.parse(
    gunzipSync(readFileSync(join(folder, `${recorded}.postgresql.json.gz`))).toString(),
  ) as { rows: Record<string, Json[]>; lists: Lists };
  const { migrations: applied, ...others } = rows;
  const names = applied!.map(({ name }) => name);
  await runMigrations(
    migrations.filter(({ name }) => names.includes(name)),
    database,
  );
  const inserts = Object.entries(others).map(
    ([table, values]) =>
      `insert into ${table} select * from json_populate_recordset(null::${table}, $rows$${JSON.stringify(values)}$rows$)`,
  );
  await database.sql(inserts.join(";\n"));
  return lists;
}
