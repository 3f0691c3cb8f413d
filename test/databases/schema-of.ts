/** The schema of a database. */
import type { TestDatabase } from "./databases.ts";

/** Every table, column and index, one a line. */
export async function schemaOf({ name, sql }: Pick<TestDatabase, "name" | "sql">): Promise<string[]> {
  const rows = await sql(name === "sqlite" ? sqliteSchema : postgresSchema);
  return rows.map(({ line }) => line as string).sort();
}

/** Without the tables that FTS5 keeps for an index, which are SQLite's own. */
const sqliteSchema = `select sql as line from sqlite_master
  where sql is not null and name not in (select name from pragma_table_list where type = 'shadow')`;

const postgresSchema = `
  select 'TABLE ' || table_name || ' ' || string_agg(concat_ws(' ', column_name, data_type, 'COLLATE ' || collation_name,
    case is_nullable when 'NO' then 'NOT NULL' end, 'DEFAULT ' || column_default), ', ' order by ordinal_position) as line
  from information_schema.columns where table_schema = current_schema() group by table_name
  union all select indexdef from pg_indexes where schemaname = current_schema()`;
