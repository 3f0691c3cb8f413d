/**
 * Migrations: a numbered list, the same for every database, each run once and recorded. All that are missing run in one transaction that no other
 * process's migration runs beside, so that many may start at once. A database that knows migrations which the code does not is refused.
 */
import type { CompiledQuery, OperationNodeSource, QueryExecutorProvider } from "kysely";
import { sql } from "kysely";
import type { Dialect, Engine } from "./dialect/dialect.ts";
import { ConflictError, RefusedError, UnavailableError } from "./errors.ts";
import { migrations } from "./migrations/index.ts";
import { keyedTable } from "./migrations/resource-table.ts";
import { type Connection, compile, slot } from "./statement.ts";

/** One step of the schema. It never changes once released. */
export interface Migration {
  /** `0001-foundation`: its place in the order, and what it is about. */
  readonly name: string;
  /** The statements of the step, in order. */
  statements(
    dialect: Dialect,
  ): readonly (OperationNodeSource & { compile(builder: QueryExecutorProvider): CompiledQuery })[];
  /** Changes rows, after the statements, by what SQL cannot read in them. */
  fill?(connection: Connection, dialect: Dialect): Promise<void>;
}

/** Runs the migrations that are missing; how many. Errors: the database is newer than the code. */
export function migrate({ dialect, exclusively }: Engine): Promise<number> {
  const { query } = dialect;
  const create = keyedTable(dialect, "migrations", { name: "text" }, ["name"]).ifNotExists();
  const record = compile(query, query.insertInto("migrations").values({ name: slot("name") }));
  return exclusively(async (connection) => {
    await connection.run(compile(query, create), {});
    const missing = await missingMigrations(dialect, connection);
    for (const migration of missing) {
      await run(dialect, connection, migration);
      await connection.run(record, { name: migration.name });
    }
    return missing.length;
  });
}

/** Says which step failed: on PostgreSQL one may need an extension that its user may not create. */
async function run(dialect: Dialect, connection: Connection, { name, statements, fill }: Migration): Promise<void> {
  try {
    for (const statement of statements(dialect)) await connection.run(compile(dialect.query, statement), {});
    await fill?.(connection, dialect);
  } catch (error) {
    if (error instanceof ConflictError || error instanceof UnavailableError || !(error instanceof Error)) throw error;
    throw new RefusedError(`migration ${name}: ${error.message}`, { cause: error });
  }
}

/** How many migrations are missing. Errors: the database is newer than the code. */
export async function pendingMigrations({ dialect, reader }: Engine): Promise<number> {
  const exists = compile(dialect.query, sql`${dialect.tableExists(slot("name"))}`);
  if ((await reader.rows(exists, { name: "migrations" })).length === 0) return migrations.length;
  return (await missingMigrations(dialect, reader)).length;
}

async function missingMigrations({ query }: Dialect, connection: Connection): Promise<readonly Migration[]> {
  const rows = await connection.rows(compile(query, query.selectFrom("migrations").select("name")), {});
  const applied = new Set(rows.map(([name]) => name as string));
  const unknown = [...applied].filter((name) => !migrations.some((migration) => migration.name === name));
  if (unknown.length > 0)
    throw new RefusedError(`the database is newer than this program: it has ${unknown.sort().join(", ")}`);
  return migrations.filter(({ name }) => !applied.has(name));
}
