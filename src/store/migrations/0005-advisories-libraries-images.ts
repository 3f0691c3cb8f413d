/** What feeds bring: documents and vulnerability metadata, the advisories of groups, artifacts with their versions, images with their packages. */
import type { Migration } from "../migrate.ts";
import { resourceTable } from "./resource-table.ts";

/** 0005. */
export const advisoriesLibrariesImages: Migration = {
  name: "0005-advisories-libraries-images",
  statements: (dialect) => [
    ...resourceTable(dialect, "documents", { facets: { id: "text", identifiers: "texts" }, unique: [["id"]] }),
    ...resourceTable(dialect, "vulnerability_metadata", {
      facets: { id: "text", identifiers: "texts" },
      unique: [["id"]],
    }),
    ...resourceTable(dialect, "advisories", { facets: { terms: "texts", search: "search" } }),
    ...resourceTable(dialect, "artifacts", {
      facets: { name: "text", ecosystem: "integer", search: "search" },
      unique: [["ecosystem", "name"]],
    }),
    ...resourceTable(dialect, "artifact_versions", {
      facets: { version: "text", version_order: "text" },
      unique: [["parent", "version"]],
      indexes: [["parent", "version_order"]],
    }),
    ...resourceTable(dialect, "images", { facets: { digest: "text" }, unique: [["parent", "digest"]] }),
    ...resourceTable(dialect, "image_packages", {}),
  ],
};
