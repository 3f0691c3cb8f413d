/**
 * Makes the indexes of search texts again where they have no table of their trigrams. So do databases of the first
 * version that had 0005, whose index lacks the marks of short texts, too.
 */

import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import type { Dialect } from "../sql/dialect.ts";
import { compile, rowCount, type SqlConnection, slot } from "../sql/statement.ts";

const batchSize = 500;

export const searchVocabularies: Migration = {
  name: "0015-search-vocabularies",
  locks: "rebuilds search indexes on SQLite if they are of the first version that had them, else changes nothing",
  statements: () => [],
  fill,
};

async function fill(connection: SqlConnection, dialect: Dialect): Promise<void> {
  if (dialect.name !== "sqlite") return;
  const exists = compile(dialect.query, dialect.tableExists(slot("name")));
  for (const table of ["advisories", "artifacts"]) {
    const name = `${table}_search_trigrams`;
    if ((await connection.rows(exists, { name })).length === 0) await rebuild(table, connection, dialect);
  }
}

async function rebuild(table: string, connection: SqlConnection, dialect: Dialect): Promise<void> {
  const { query } = dialect;
  const { add, documentOf } = dialect.indexMaintenance(table, "search", "search")!;
  const made = [sql`drop table ${sql.table(`${table}_search`)}`, ...dialect.contentIndex(table, "search", "search")];
  for (const statement of made) await connection.run(compile(query, statement), {});
  const next = compile(
    query,
    sql`select uid, search from ${sql.table(table)} where uid > ${slot("after")} order by uid limit ${rowCount("limit")}`,
  );
  const index = compile(query, add);
  for (let after = ""; ; ) {
    const rows = (await connection.rows(next, { after, limit: batchSize })) as [uid: string, search: string][];
    if (rows.length === 0) return;
    for (const [uid, search] of rows) await connection.run(index, { uid, document: documentOf(uid, search) });
    after = rows.at(-1)![0];
  }
}
