/** Adds to audit records from where their callers called. */
import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** 0019. */
export const auditOrigins: Migration = {
  name: "0019-audit-origins",
  locks: "adds two columns to audit_log, which takes no time",
  statements: ({ types }) =>
    ["address", "user_agent"].map(
      (column) => sql`alter table audit_log add column ${sql.ref(column)} ${types.text} not null default ''`,
    ),
};
