/** Adds the files of bills of materials, and the VEX documents of groups with what they state. */
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

export const sbomFiles: Migration = {
  name: "0021-sbom-files",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTable(dialect, "sbom_files", {}),
    ...resourceTable(dialect, "vex_documents", {}),
    ...resourceTable(dialect, "vex_statements", {}),
    ...resourceTable(dialect, "vex_files", {}),
  ],
};
