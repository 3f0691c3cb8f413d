/** Adds the documents and advisories of each feed, which are merged into `documents` and `advisories`. */

import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

const columns = { feed: "text", merged: "text" } as const;

/** Assigns what was imported before to the feed `default`, whose rows have the uids of the merged rows. */
function byDefault(rows: string, merged: string) {
  return [
    sql`insert into ${sql.table(rows)} (uid, parent, version, create_time_us, update_time_us, packed, feed, merged)
      select uid, parent, version, create_time_us, update_time_us, packed, 'default', uid from ${sql.table(merged)}`,
    sql`insert into counters (ancestor, table_name, class, slot, count)
      select ancestor, ${sql.lit(rows)}, class, slot, count from counters where table_name = ${sql.lit(merged)}`,
  ];
}

export const feeds: Migration = {
  name: "0010-feeds",
  locks: "copies documents and advisories to new tables: reads go on, imports wait",
  statements: (dialect) => [
    ...resourceTable(dialect, "feed_documents", { columns, indexes: [["merged"], ["feed"]] }),
    ...resourceTable(dialect, "feed_advisories", { columns, indexes: [["merged"], ["parent", "feed"]] }),
    ...byDefault("feed_documents", "documents"),
    ...byDefault("feed_advisories", "advisories"),
  ],
};
