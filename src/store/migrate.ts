/**
 * Runs migrations: a numbered list, the same for every database, each run once and recorded. Missing ones run in a
 * single transaction that excludes the migrations of other processes, so many processes may start at once. A database
 * with unknown migrations is refused.
 */

import { sql } from "kysely";
import type { Engine } from "./engines/engine.ts";
import type { Migration } from "./migration.ts";
import { migrations } from "./migrations/index.ts";
import type { Dialect } from "./sql/dialect.ts";
import { ConflictError, RefusedError, UnavailableError } from "./sql/errors.ts";
import { keyedTable } from "./sql/resource-table.ts";
import { compile, type SqlConnection, slot } from "./sql/statement.ts";

/** A migration that is missing: its name and what it locks. */
export type PendingMigration = Pick<Migration, "name" | "locks">;

/** Called when a migration has run, before it is committed with the others. */
export type OnMigrated = (migration: PendingMigration, durationMs: number) => void;

/**
 * Runs the missing migrations and returns how many. Errors: RefusedError when the database is newer than this program
 * or a migration fails.
 */
export function migrate({ dialect, exclusively }: Engine, onMigrated?: OnMigrated): Promise<number> {
  const { query } = dialect;
  const create = keyedTable(dialect, "migrations", { name: "text" }, ["name"]).ifNotExists();
  const record = compile(query, query.insertInto("migrations").values({ name: slot("name") }));
  return exclusively(async (connection) => {
    await connection.run(compile(query, create), {});
    const missing = await missingMigrations(dialect, connection);
    for (const migration of missing) {
      const startMs = performance.now();
      await run(dialect, connection, migration);
      await connection.run(record, { name: migration.name });
      onMigrated?.(migration, performance.now() - startMs);
    }
    return missing.length;
  });
}

/** Names the migration that fails: on PostgreSQL, one may need an extension that the user may not create. */
async function run(dialect: Dialect, connection: SqlConnection, { name, statements, fill }: Migration): Promise<void> {
  try {
    for (const statement of statements(dialect)) await connection.run(compile(dialect.query, statement), {});
    await fill?.(connection, dialect);
  } catch (error) {
    if (error instanceof ConflictError || error instanceof UnavailableError || !(error instanceof Error)) throw error;
    throw new RefusedError(`migration ${name}: ${error.message}`, { cause: error });
  }
}

/** Returns the missing migrations, in order. Errors: RefusedError when the database is newer than this program. */
export async function pendingMigrations({ dialect, reader }: Engine): Promise<readonly PendingMigration[]> {
  const exists = compile(dialect.query, sql`${dialect.tableExists(slot("name"))}`);
  if ((await reader.rows(exists, { name: "migrations" })).length === 0) return migrations;
  return missingMigrations(dialect, reader);
}

async function missingMigrations({ query }: Dialect, connection: SqlConnection): Promise<readonly Migration[]> {
  const rows = await connection.rows(compile(query, query.selectFrom("migrations").select("name")), {});
  const applied = new Set(rows.map(([name]) => name as string));
  const unknown = [...applied].filter((name) => !migrations.some((migration) => migration.name === name));
  if (unknown.length > 0)
    throw new RefusedError(
      `the database is newer than this program: it has ${unknown.sort().join(", ")}, and this program ends with ${migrations.at(-1)!.name}; run the version that migrated it, or restore the backup from before`,
    );
  return migrations.filter(({ name }) => !applied.has(name));
}
