/**
 * Adds what findings are computed of: the vulnerabilities and affected packages of feeds, components, what is known
 * about each of them, moves of tags, and bills of materials as they were uploaded.
 */
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

export const findings: Migration = {
  name: "0020-findings",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTable(dialect, "vulnerabilities", {
      columns: {
        id: "text",
        identifiers: "texts",
        related: "texts",
        packages: "texts",
        level: "integer",
        score: "integer",
        epss: "integer",
        known_exploited: "integer",
        publish_us: "integer",
        modify_us: "integer",
      },
      unique: [["id"]],
      indexes: [["level"], ["score"], ["epss"], ["known_exploited"], ["publish_us"], ["modify_us"]],
    }),
    ...resourceTable(dialect, "vulnerability_records", {
      columns: { feed: "text", source: "text", vulnerabilities: "text", identifiers: "texts" },
      indexes: [["feed"], ["source"]],
    }),
    ...resourceTable(dialect, "affected_packages", {
      columns: { feed: "text", package_key: "text", vulnerability: "text" },
      indexes: [["feed"], ["package_key"], ["vulnerability"]],
    }),
    ...resourceTable(dialect, "exploit_scores", {}),
    ...resourceTable(dialect, "known_exploits", {}),
    ...resourceTable(dialect, "components", {
      columns: { package_key: "text", keys: "texts" },
      indexes: [["package_key"]],
    }),
    ...resourceTable(dialect, "component_matches", {
      columns: { component: "text", vulnerability: "text", affected: "text" },
      indexes: [["component"], ["vulnerability"], ["affected"]],
    }),
    ...resourceTable(dialect, "tag_moves", { columns: { tag: "text" }, indexes: [["parent", "tag"]] }),
    ...resourceTable(dialect, "sbom_documents", { columns: { digest: "text" }, indexes: [["parent", "digest"]] }),
  ],
};
