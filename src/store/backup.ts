/**
 * Backups of SQLite databases. Those of PostgreSQL are made by its own programs. The driver is loaded when it is used.
 */
import { sql } from "kysely";
import type { CopyOptions, HeldFile } from "./engines/sqlite/backup.ts";
import { inMemory } from "./engines/sqlite/file.ts";
import { type CounterFault, findCounterFaults } from "./logs/counter-check.ts";
import { migrations } from "./migrations/index.ts";
import { countedTables, schemaOf, snapshotTables } from "./snapshot/tables.ts";
import { compile } from "./sql/statement.ts";

/** What a database has. */
export interface DatabaseContents {
  /** The names of its migrations, in order. */
  readonly schema: readonly string[];
  /** The number of rows of each table. */
  readonly tables: Readonly<Record<string, number>>;
  readonly counterFaults: readonly CounterFault[];
}

/** The path of a SQLite database; undefined for PostgreSQL and for a database in memory. */
export function databasePath(url: string): string | undefined {
  const path = url.startsWith("sqlite:") ? url.slice("sqlite:".length) : inMemory;
  return path === inMemory ? undefined : path;
}

/**
 * Copies the database file at `from`, as it is at this moment, to a new file at `to`, while processes use it.
 * Errors: UnavailableError; what `progress` throws.
 */
export async function copyDatabase(from: string, to: string, options: CopyOptions): Promise<void> {
  return (await import("./engines/sqlite/backup.ts")).copySqlite(from, to, options);
}

/** Reads a whole copy, checks it, and returns what it has. Errors: RefusedError when it is damaged. */
export async function inspectCopy(path: string): Promise<DatabaseContents> {
  const { readSqlite } = await import("./engines/sqlite/backup.ts");
  const { sqlite } = await import("./engines/sqlite/engine.ts");
  return readSqlite(path, async (connection) => {
    const tables: Record<string, number> = {};
    for (const { name } of await snapshotTables(sqlite, connection)) {
      const [row] = await connection.rows(compile(sqlite.query, sql`select count(*) from ${sql.table(name)}`), {});
      tables[name] = row![0] as number;
    }
    return {
      schema: await schemaOf(sqlite, connection),
      tables,
      counterFaults: await findCounterFaults(sqlite, connection, await countedTables(sqlite, connection)),
    };
  });
}

/** Whether another process has the database file at `path` open. */
export async function isDatabaseInUse(path: string): Promise<boolean> {
  return (await import("./engines/sqlite/backup.ts")).isInUse(path);
}

/**
 * Keeps all processes from opening the database file at `path`, which may be missing, until it is released. One that is
 * damaged is not kept from them. Errors: RefusedError when another process has it open.
 */
export async function holdDatabase(path: string): Promise<HeldFile> {
  return (await import("./engines/sqlite/backup.ts")).holdSqlite(path);
}

/** The names that are not migrations of this program. */
export function unknownMigrations(schema: readonly string[]): readonly string[] {
  return schema.filter((name) => !migrations.some((migration) => migration.name === name));
}
