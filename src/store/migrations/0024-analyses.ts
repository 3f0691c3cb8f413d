/** Adds the analyses of groups. */
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

export const analyses: Migration = {
  name: "0024-analyses",
  locks: "creates tables, locks nothing",
  statements: (dialect) =>
    resourceTable(dialect, "analyses", { columns: { vulnerability_id: "text" }, indexes: [["vulnerability_id"]] }),
};
