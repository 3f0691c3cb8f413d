/**
 * Adds from where the callers of audit records called, counts the bytes of what organisations store in some tables, and
 * adds when group invites end. In rows from before the end is 0: the program reads it from their messages.
 */
import { sql } from "kysely";
import type { Migration } from "../migration.ts";

const byteCounted = ["repo_readmes", "scim_users", "scim_groups"];

export const bounds: Migration = {
  name: "0019-bounds",
  locks: "reads readmes and what SCIM has provisioned, and builds an index on group invites: writes of these wait",
  statements: ({ query, types }) => [
    ...["address", "user_agent"].map(
      (column) => sql`alter table audit_log add column ${sql.ref(column)} ${types.text} not null default ''`,
    ),
    ...byteCounted.map(
      (table) => sql`insert into counters (ancestor, table_name, class, slot, count)
        select substr(uid, 1, 40), ${sql.lit(table)}, 'bytes', 0, sum(length(packed))
        from ${sql.table(table)} group by substr(uid, 1, 40)`,
    ),
    sql`alter table group_invites add column expire_us ${types.integer} not null default 0`,
    query.schema.createIndex("group_invites_expire_us").on("group_invites").columns(["expire_us", "uid"]),
  ],
};
