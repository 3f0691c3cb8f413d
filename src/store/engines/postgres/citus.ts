/**
 * PostgreSQL with Citus: the tables of tenants are distributed among workers by their column `root`, the first segment
 * of the uid. All rows of an organisation are on one shard, and statements that name its root go there alone.
 *
 * Everything else stays on the coordinator. That is what belongs to no tenant: settings, logs, queues, what feeds
 * import; tables with a key that is unique among all tenants, which no shard could check; and the counters, since every
 * transaction writes those of the ancestor "". Citus knows these tables, so that a transaction which writes to them and
 * to a worker commits in two phases: it has happened in both places or in none.
 */
import { sql } from "kysely";
import type { Dialect } from "../../sql/dialect.ts";
import { RefusedError } from "../../sql/errors.ts";
import { compile, type SqlConnection, slot } from "../../sql/statement.ts";

/**
 * The tables that Citus need not know: only migrations write to the first two, and what writes to a queue and to a
 * worker writes to other tables, too. Of a table that it knows, Citus does not report how many entries a queue got.
 */
const unknownTables = ["migrations", "migration_lock", "deliveries"];

/** The dialect of a database in which these tables are distributed. */
export function distributedDialect(postgres: Dialect, tables: ReadonlySet<string>): Dialect {
  return {
    ...postgres,
    isDistributed: (table) => tables.has(table),
    // What the store writes by itself is not in the catalogue.
    catalogue: sql`select * from (${postgres.catalogue}) as c where c.column_name <> 'root'`,
  };
}

/**
 * Distributes those of these tables that are not in `distributed`, and returns how many. All shards of one organisation
 * are on the same worker. Errors: RefusedError where the database has no Citus.
 */
export async function distribute(
  { query }: Dialect,
  connection: SqlConnection,
  tables: readonly string[],
  distributed: ReadonlySet<string>,
): Promise<number> {
  const run = (text: string) => connection.run({ text, slots: [] }, {});
  const extension = { text: "select 1 from pg_extension where extname = 'citus'", slots: [] };
  if ((await connection.rows(extension, {})).length === 0)
    throw new RefusedError("the database has no Citus: on the coordinator and each worker, create extension citus");
  const uniqueIndexes = compile(
    query,
    sql`select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index
      where indrelid = ${slot("table")}::regclass and indisunique and not indisprimary`,
  );
  const missing = tables.filter((table) => !distributed.has(table));
  for (const table of missing) {
    await run(`alter table ${table} add column root text collate "C"`);
    await run(`update ${table} set root = split_part(uid, '/', 1)`);
    // The root follows from the other columns: at the end of a key it changes neither what is unique nor what it finds.
    await run(`alter table ${table} alter column root set not null,
      drop constraint ${table}_uid, add constraint ${table}_uid primary key (uid, root)`);
    for (const [name, definition] of (await connection.rows(uniqueIndexes, { table })) as [string, string][]) {
      await run(`drop index ${name}`);
      await run(definition.replace(/\)$/, ", root)"));
    }
    const place = table === tables[0] ? "" : `, colocate_with => '${tables[0]}'`;
    await connection.rows({ text: `select create_distributed_table('${table}', 'root'${place})`, slots: [] }, {});
  }
  const others = sql`select c.relname::text from pg_class as c
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
      and c.relname <> all(${slot("unknown")}::text[])
      and not exists (select from pg_dist_partition as p where p.logicalrelid = c.oid)`;
  const add = { text: "select citus_add_local_table_to_metadata($1)", slots: ["table"] };
  for (const [table] of await connection.rows(compile(query, others), { unknown: unknownTables }))
    await connection.rows(add, { table });
  return missing.length;
}
