/** Puts the base columns and the body of a row into one value, so that a row is read as one. */

import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import type { Dialect } from "../sql/dialect.ts";
import { unpackedTables } from "./first-tables.ts";

const tables = Object.values(unpackedTables).flatMap((ofMigration) => Object.keys(ofMigration));

/** The version of a row. In the table of the versions of artifacts, the column of that name has the artifact's. */
const versionOf = (table: string) => (table === "artifact_versions" ? sql.lit(1) : sql.ref("version"));

/** The value that `pack` of packed.ts makes. */
const packed: Readonly<Record<Dialect["name"], (table: string) => ReturnType<typeof sql>>> = {
  sqlite: (table) => sql`cast(
    unhex(format('%08x%08x%016x%016x%08x', 28 + length(uid) + length(body), ${versionOf(table)}, create_time_us, update_time_us, length(uid)))
    || cast(uid as blob) || body as blob)`,
  postgresql: (
    table,
  ) => sql`int4send(28 + length(uid) + length(body)) || int4send(${versionOf(table)}::integer) || int8send(create_time_us) || int8send(update_time_us)
    || int4send(length(uid)) || convert_to(uid, 'UTF8') || body`,
};

export const packedRows: Migration = {
  name: "0007-packed-rows",
  locks: "rewrites every row of every resource: reads and writes wait until it is done",
  statements: ({ name }) =>
    tables.flatMap((table) => [
      sql`update ${sql.table(table)} set body = ${packed[name]!(table)}`,
      sql`alter table ${sql.table(table)} rename column body to packed`,
    ]),
};
