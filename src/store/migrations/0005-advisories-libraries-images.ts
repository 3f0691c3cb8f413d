/**
 * What feeds import: documents, vulnerability metadata, advisories, artifacts with their versions, images with their
 * packages.
 */
import type { Migration } from "../migration.ts";
import { resourceTableV1 } from "../sql/resource-table.ts";

/** 0005. */
export const advisoriesLibrariesImages: Migration = {
  name: "0005-advisories-libraries-images",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTableV1(dialect, "documents", { columns: { id: "text", identifiers: "texts" }, unique: [["id"]] }),
    ...resourceTableV1(dialect, "vulnerability_metadata", {
      columns: { id: "text", identifiers: "texts" },
      unique: [["id"]],
    }),
    ...resourceTableV1(dialect, "advisories", { columns: { terms: "texts", search: "search" } }),
    ...resourceTableV1(dialect, "artifacts", {
      columns: { name: "text", ecosystem: "integer", search: "search" },
      unique: [["ecosystem", "name"]],
    }),
    ...resourceTableV1(dialect, "artifact_versions", {
      columns: { version: "text", version_order: "text" },
      unique: [["parent", "version"]],
      indexes: [["parent", "version_order"]],
    }),
    ...resourceTableV1(dialect, "images", { columns: { digest: "text" }, unique: [["parent", "digest"]] }),
    ...resourceTableV1(dialect, "image_packages", {}),
  ],
};
