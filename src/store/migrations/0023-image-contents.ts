/** Adds what images contain: their components, and since when they have each of them. */
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

export const imageContents: Migration = {
  name: "0023-image-contents",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTable(dialect, "image_contents", {
      columns: { digest: "text", is_part: "integer", has_sbom: "integer", parts: "texts", components: "texts" },
      indexes: [["digest"]],
    }),
    ...resourceTable(dialect, "image_members", {}),
  ],
};
