/** Sessions of refresh tokens, responses that idempotency keys replay, and the audit log. */
import type { Migration } from "../migration.ts";
import { keyedTable, resourceTableV1 } from "../sql/resource-table.ts";

/** 0004. */
export const sessionsAudit: Migration = {
  name: "0004-sessions-audit",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTableV1(dialect, "sessions", {
      columns: { family: "text", expire_us: "integer" },
      unique: [["family"]],
      indexes: [["expire_us"]],
    }),
    ...resourceTableV1(dialect, "idempotent_answers", { columns: { expire_us: "integer" }, indexes: [["expire_us"]] }),
    keyedTable(
      dialect,
      "audit_log",
      {
        time_us: "integer",
        id: "text",
        caller: "text",
        issuer: "text",
        method: "text",
        scope: "text",
        resource: "text",
        code: "text",
        request_id: "text",
        count: "integer",
      },
      ["time_us", "id"],
    ).modifyEnd(dialect.clustered),
    dialect.query.schema.createIndex("audit_log_caller").on("audit_log").columns(["caller", "time_us", "id"]),
  ],
};
