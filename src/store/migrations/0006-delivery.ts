/** Subscriptions, events, and the queue of their deliveries. */
import { partitionColumn } from "../logs/queue-entry.ts";
import type { Migration } from "../migration.ts";
import { keyedTable, resourceTableV1 } from "../sql/resource-table.ts";

/** 0006. */
export const delivery: Migration = {
  name: "0006-delivery",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTableV1(dialect, "subscriptions", {}),
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
    dialect.query.schema.createIndex("events_id").on("events").columns(["id"]),
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
    dialect.query.schema
      .createIndex("deliveries_due")
      .on("deliveries")
      .columns(["state", partitionColumn, "due_us", "id"]),
    dialect.query.schema
      .createIndex("deliveries_time")
      .on("deliveries")
      .columns(["state", "time_us", "id", partitionColumn]),
  ],
};
