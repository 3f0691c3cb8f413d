/** Adds reports of vulnerability scanners, and products with the ends of life of their versions. */
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

const columns = { digest: "text", scanner: "integer", scan_time_us: "integer" } as const;

export const vulnReports: Migration = {
  name: "0012-vuln-reports",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTable(dialect, "vuln_reports", {
      columns,
      indexes: [["digest"], ["parent", "digest"], ["parent", "scan_time_us"]],
    }),
    ...resourceTable(dialect, "vuln_report_findings", {}),
    ...resourceTable(dialect, "vuln_report_files", {}),
    ...resourceTable(dialect, "products", { columns: { name: "text" } }),
  ],
};
