/** How subscriptions are delivered to, the attempts of deliveries, and an index that lists those of a subscription. */
import { sql } from "kysely";
import { partitionColumn } from "../logs/queue-entry.ts";
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

export const deliverySettings: Migration = {
  name: "0018-delivery-settings",
  locks:
    "creates a table, adds a column to deliveries and builds an index on it: deliveries wait, for some seconds per million",
  statements: (dialect) => [
    ...resourceTable(dialect, "delivery_settings", {}),
    sql`alter table deliveries add column history ${dialect.types.text} not null default ''`,
    dialect.query.schema
      .createIndex("deliveries_partition")
      .on("deliveries")
      .columns([partitionColumn, "state", "time_us", "id"]),
  ],
};
