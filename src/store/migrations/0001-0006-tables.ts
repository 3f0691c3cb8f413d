/** The first migrations, which make tables and indexes. */
import { partitionColumn } from "../logs/queue-entry.ts";
import type { Migration } from "../migration.ts";
import type { Dialect } from "../sql/dialect.ts";
import { keyedTable, resourceTableV1 } from "../sql/resource-table.ts";
import { unpackedTables } from "./unpacked-tables.ts";

/** 0001 to 0006. */
export const firstTables: readonly Migration[] = Object.entries(unpackedTables).map(([name, tables]) => ({
  name,
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...Object.entries(tables).flatMap(([table, layout]) => resourceTableV1(dialect, table, layout)),
    ...(others[name]?.(dialect) ?? []),
  ],
}));

/** The tables that are not of resources, by migration. */
const others: Readonly<Record<string, (dialect: Dialect) => ReturnType<Migration["statements"]>>> = {
  "0001-foundation": (dialect) => [
    keyedTable(dialect, "settings", { name: "text", value: "bytes" }, ["name"]),
    keyedTable(
      dialect,
      "counters",
      { ancestor: "text", table_name: "text", class: "text", slot: "integer", count: "integer" },
      ["ancestor", "table_name", "class", "slot"],
    ).modifyEnd(dialect.clustered),
  ],
  "0004-sessions-audit": (dialect) => [
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
    index(dialect, "audit_log_caller", "audit_log", ["caller", "time_us", "id"]),
  ],
  "0006-delivery": (dialect) => [
    keyedTable(
      dialect,
      "events",
      {
        time_us: "integer",
        id: "text",
        type: "text",
        source: "text",
        subject: "text",
        extensions: "text",
        data: "text",
      },
      ["time_us", "id"],
    ),
    index(dialect, "events_id", "events", ["id"]),
    keyedTable(
      dialect,
      "deliveries",
      {
        [partitionColumn]: "text",
        id: "text",
        state: "integer",
        time_us: "integer",
        due_us: "integer",
        expire_us: "integer",
        attempts: "integer",
        tried_us: "integer",
        result: "text",
      },
      [partitionColumn, "id"],
    ).modifyEnd(dialect.clustered),
    index(dialect, "deliveries_due", "deliveries", ["state", partitionColumn, "due_us", "id"]),
    index(dialect, "deliveries_time", "deliveries", ["state", "time_us", "id", partitionColumn]),
  ],
};

function index({ query }: Dialect, name: string, table: string, columns: readonly string[]) {
  return query.schema
    .createIndex(name)
    .on(table)
    .columns([...columns]);
}
