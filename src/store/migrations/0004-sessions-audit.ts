/** Sessions that refresh tokens continue, answers that idempotency keys replay, and the audit log. */
import type { Migration } from "../migrate.ts";
import { keyedTable, resourceTable } from "./resource-table.ts";

/** 0004. */
export const sessionsAudit: Migration = {
  name: "0004-sessions-audit",
  statements: (dialect) => [
    ...resourceTable(dialect, "sessions", {
      facets: { family: "text", expire_us: "integer" },
      unique: [["family"]],
      indexes: [["expire_us"]],
    }),
    ...resourceTable(dialect, "idempotent_answers", { facets: { expire_us: "integer" }, indexes: [["expire_us"]] }),
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
