/** The tables of a database, as a snapshot has them: without what a database derives from others, such as indexes. */
import { sql } from "kysely";
import type { Dialect } from "../sql/dialect.ts";
import { compile, rowCount, type SqlConnection, type Statement, slot } from "../sql/statement.ts";

/** How a value stands in a snapshot: `bytes` are in Base64. */
export type SnapshotType = "text" | "integer" | "bytes";

/** A table: its columns by name, in the order of their names, and those that order its rows and identify each. */
export interface SnapshotTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, SnapshotType>>;
  readonly key: readonly string[];
}

/** The row of settings that an import in progress writes. No snapshot has it. */
export const importSetting = "snapshot_import";
/** What migrations write themselves. */
const ownTables = new Set(["migrations", "migration_lock"]);
/** Last, so that nothing takes a database for a whole one before it is. */
const lastTable = "settings";

/** The tables of a database in the order of a snapshot. */
export async function snapshotTables(dialect: Dialect, connection: SqlConnection): Promise<readonly SnapshotTable[]> {
  const rows = await connection.rows(compile(dialect.query, dialect.catalogue), {});
  const tables = new Map<string, { columns: Record<string, SnapshotType>; key: [place: number, column: string][] }>();
  for (const [table, column, type, place] of rows as [string, string, string, number][]) {
    if (ownTables.has(table) || column === dialect.rowKey) continue;
    const found = tables.get(table) ?? { columns: {}, key: [] };
    tables.set(table, found);
    found.columns[column] = typeOf(type);
    if (place > 0) found.key.push([place, column]);
  }
  const named = [...tables].map(([name, { columns, key }]) => ({
    name,
    columns: Object.fromEntries(Object.entries(columns).sort(([a], [b]) => (a < b ? -1 : 1))),
    key: key.length > 0 ? key.sort(([a], [b]) => a - b).map(([, column]) => column) : ["uid"],
  }));
  return named.sort(
    (a, b) => Number(a.name === lastTable) - Number(b.name === lastTable) || (a.name < b.name ? -1 : 1),
  );
}

/** The tables whose rows are counted: those of resources. Without distributed ones, whose shards no statement joins. */
export async function countedTables(dialect: Dialect, connection: SqlConnection): Promise<readonly string[]> {
  const tables = await snapshotTables(dialect, connection);
  return tables
    .filter(({ name, columns }) => "uid" in columns && "parent" in columns && !dialect.isDistributed(name))
    .map(({ name }) => name);
}

function typeOf(declared: string): SnapshotType {
  const type = declared.toLowerCase();
  if (type === "text") return "text";
  if (type === "bytea" || type === "blob") return "bytes";
  if (type === "bigint" || type === "integer") return "integer";
  throw new Error(`a column has the type ${declared}`);
}

/** Slots `after0`, `after1`, … and `limit`: the first rows, or those after a key. */
function rowsAfter(dialect: Dialect, { name, columns, key }: SnapshotTable, isFirst: boolean): Statement {
  const list = (names: readonly string[]) => sql.join(names.map((column) => sql.ref(column)));
  const filters = isFirst ? [] : [sql`(${list(key)}) > (${sql.join(key.map((_, i) => slot(`after${i}`)))})`];
  if (name === lastTable) filters.push(sql`name <> ${sql.lit(importSetting)}`);
  const where = filters.length > 0 ? sql` where ${sql.join(filters, sql` and `)}` : sql``;
  return compile(
    dialect.query,
    sql`select ${list(Object.keys(columns))} from ${sql.table(name)}${where} order by ${list(key)} limit ${rowCount("limit")}`,
  );
}

/** The names of the migrations that a database has, in their order. */
export async function schemaOf({ query }: Dialect, connection: SqlConnection): Promise<readonly string[]> {
  const rows = await connection.rows(compile(query, sql`select name from migrations order by name`), {});
  return rows.map(([name]) => name as string);
}

/** Reads a table from its first row to its last, in portions. */
export async function* readTable(
  dialect: Dialect,
  connection: SqlConnection,
  table: SnapshotTable,
  limit: number,
): AsyncGenerator<readonly (readonly unknown[])[]> {
  const names = Object.keys(table.columns);
  const keyAt = table.key.map((column) => names.indexOf(column));
  const next = rowsAfter(dialect, table, false);
  let statement = rowsAfter(dialect, table, true);
  for (let after: Record<string, unknown> = {}; ; ) {
    const rows = await connection.rows(statement, { ...after, limit });
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    after = Object.fromEntries(keyAt.map((at, i) => [`after${i}`, rows.at(-1)![at]]));
    statement = next;
  }
}
