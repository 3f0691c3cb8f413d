/** What each feed says of a package: rows beside those of the documents and advisories that are merged of them. */
import { sql } from "kysely";
import type { Migration } from "../migrate.ts";
import { resourceTable } from "./resource-table.ts";

const facets = { feed: "text", merged: "text" } as const;

/** What was imported before belongs to the feed `default`, whose rows have the uids of what they are merged to. */
function byDefault(rows: string, merged: string) {
  return [
    sql`insert into ${sql.table(rows)} (uid, parent, version, create_time_us, update_time_us, packed, feed, merged)
      select uid, parent, version, create_time_us, update_time_us, packed, 'default', uid from ${sql.table(merged)}`,
    sql`insert into counters (ancestor, table_name, class, slot, count)
      select ancestor, ${sql.lit(rows)}, class, slot, count from counters where table_name = ${sql.lit(merged)}`,
  ];
}

/** 0010. */
export const feeds: Migration = {
  name: "0010-feeds",
  statements: (dialect) => [
    ...resourceTable(dialect, "feed_documents", { facets, indexes: [["merged"], ["feed"]] }),
    ...resourceTable(dialect, "feed_advisories", { facets, indexes: [["merged"], ["parent", "feed"]] }),
    ...["feed_documents", "feed_advisories"].map(
      (table) => sql`alter table ${sql.table(table)} rename column body to packed`,
    ),
    ...byDefault("feed_documents", "documents"),
    ...byDefault("feed_advisories", "advisories"),
  ],
};
