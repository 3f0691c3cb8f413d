/** Adds orders of advisories by id and by artifact name, which only their messages had. */

import { BinaryReader } from "@bufbuild/protobuf/wire";
import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import { bytesOf, unpack } from "../rows/packed.ts";
import type { Dialect } from "../sql/dialect.ts";
import { compile, rowCount, type SqlConnection, slot } from "../sql/statement.ts";

/** The number of the message's field, by column. */
const fields = { advisory_id: 2, artifact_name: 7 } as const;
const columns = Object.keys(fields) as (keyof typeof fields)[];
const batchSize = 500;

export const advisoryOrders: Migration = {
  name: "0011-advisory-orders",
  locks: "rewrites advisories and builds two indexes on them: reads and writes of advisories wait",
  statements: ({ query, types }) =>
    columns.flatMap((column) => [
      sql`alter table advisories add column ${sql.ref(column)} ${types.text} not null default ''`,
      query.schema.createIndex(`advisories_${column}`).on("advisories").columns([column, "uid"]),
    ]),
  fill,
};

async function fill(connection: SqlConnection, dialect: Dialect): Promise<void> {
  const next = compile(
    dialect.query,
    sql`select uid, packed from advisories where uid > ${slot("after")} order by uid limit ${rowCount("limit")}`,
  );
  const update = compile(
    dialect.query,
    sql`update advisories as t set advisory_id = r.value ->> 1, artifact_name = r.value ->> 2
      from ${dialect.elements(slot("rows"))} where t.uid = r.value ->> 0`,
  );
  for (let after = ""; ; ) {
    const rows = await connection.rows(next, { after, limit: batchSize });
    if (rows.length === 0) return;
    const texts = rows.map(([uid, packed]) => [uid, ...textsOf(unpack(bytesOf(packed)).body)]);
    await connection.run(update, { rows: JSON.stringify(texts) });
    after = rows.at(-1)![0] as string;
  }
}

/** The values of the columns, from an encoded message. */
function textsOf(body: Uint8Array): string[] {
  const texts = new Map<number, string>();
  const reader = new BinaryReader(body);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (columns.some((column) => fields[column] === number)) texts.set(number, reader.string());
    else reader.skip(type, number);
  }
  return columns.map((column) => texts.get(fields[column]) ?? "");
}
