/** Adds the counts of findings over time: what is open in each repo, and what was on the days before. */
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

export const findingDays: Migration = {
  name: "0022-finding-days",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTable(dialect, "finding_states", {}),
    ...resourceTable(dialect, "finding_days", { columns: { end_day: "integer" }, indexes: [["end_day"]] }),
  ],
};
