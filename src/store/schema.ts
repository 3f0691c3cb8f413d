/**
 * The state of a schema: what of it this program has still to do, and whether this program can work on it.
 *
 * A release declares which programs can work on the schema that it makes. The table `migrations` has the names of what
 * was done. A setting has, for each migration since releases have phases, the one that a program must know to work on
 * the result: none for an addition.
 */
import { sql } from "kysely";
import type { Migration, Release } from "./migration.ts";
import { migrations, releases } from "./migrations/index.ts";
import { settingStatements } from "./settings.ts";
import type { Dialect } from "./sql/dialect.ts";
import { RefusedError } from "./sql/errors.ts";
import { compile, type SqlConnection, slot } from "./sql/statement.ts";

/** The name of the setting: a JSON object whose members are migrations, with what a program must know, or "". */
const needsSetting = "schema_needs";
/** What an addition needs. */
const nothing = "";

/** The state of a schema. */
export interface SchemaState {
  readonly applied: ReadonlySet<string>;
  /** What `migrate` runs, in order. */
  readonly pending: readonly Migration[];
  /** What runs once no program of the release before is left. */
  readonly unfinished: readonly Migration[];
}

/**
 * Reads the state. Errors: RefusedError when a newer program has made a schema on which this one cannot work.
 */
export async function readSchema(dialect: Dialect, connection: SqlConnection): Promise<SchemaState> {
  const { query } = dialect;
  const exists = compile(query, sql`${dialect.tableExists(slot("name"))}`);
  const isEmpty = (await connection.rows(exists, { name: "migrations" })).length === 0;
  const rows = isEmpty ? [] : await connection.rows(compile(query, query.selectFrom("migrations").select("name")), {});
  const applied = new Set(rows.map(([name]) => name as string));
  await checkUnknown(dialect, connection, applied);
  const missing = migrations.filter(({ name }) => !applied.has(name));
  // Nothing works on an empty database yet.
  const last = applied.size === 0 ? [] : releases.at(-1)!.finish;
  return {
    applied,
    pending: missing.filter((migration) => !last.includes(migration)),
    unfinished: missing.filter((migration) => last.includes(migration)),
  };
}

async function checkUnknown(dialect: Dialect, connection: SqlConnection, applied: ReadonlySet<string>): Promise<void> {
  const isKnown = (name: string) => migrations.some((migration) => migration.name === name);
  const unknown = [...applied].filter((name) => !isKnown(name)).sort();
  if (unknown.length === 0) return;
  const needs = await readNeeds(dialect, connection);
  const canWork = (name: string) => {
    const needed = needs[name];
    return needed === nothing || (needed !== undefined && isKnown(needed));
  };
  const refused = unknown.filter((name) => !canWork(name));
  if (refused.length > 0)
    throw new RefusedError(
      `the database is newer than this program: it has ${refused.join(", ")}, and this program ends with ${migrations.at(-1)!.name}; run the version that migrated it, or restore the backup from before`,
    );
}

type Needs = Readonly<Record<string, string>>;

async function readNeeds(dialect: Dialect, connection: SqlConnection): Promise<Needs> {
  const [row] = await connection.rows(settingStatements(dialect).get, { name: needsSetting });
  return row === undefined ? {} : JSON.parse(Buffer.from(row[0] as Uint8Array).toString("utf8"));
}

/** Records in a transaction what programs must know from now on. */
async function addNeeds(dialect: Dialect, connection: SqlConnection, added: Needs): Promise<void> {
  const value = Buffer.from(JSON.stringify({ ...(await readNeeds(dialect, connection)), ...added }));
  await connection.run(settingStatements(dialect).put, { name: needsSetting, value });
}

/** Records in its transaction that a migration of `release` was done. */
export async function recordMigration(
  dialect: Dialect,
  connection: SqlConnection,
  release: Release,
  migration: Migration,
): Promise<void> {
  const { query } = dialect;
  const record = compile(query, query.insertInto("migrations").values({ name: slot("name") }));
  await connection.run(record, { name: migration.name });
  if (release === releases[0]) return; // only programs that know it can work on it
  const needed = release.finish.includes(migration) ? release.steps.at(-1)!.name : nothing;
  await addNeeds(dialect, connection, { [migration.name]: needed });
}

/** Records that programs which do not know the steps of `release` can no longer work on the schema. */
export async function announceFinish(dialect: Dialect, connection: SqlConnection, release: Release): Promise<void> {
  const { name } = release.steps.at(-1)!;
  await addNeeds(dialect, connection, { [name]: name });
}
