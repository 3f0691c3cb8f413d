/**
 * Renames the column that has the version of an artifact: its name is that of the version of a row, which updates need.
 */
import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** 0016. No row could be updated before, so every row has its first version. */
export const artifactVersionColumn: Migration = {
  name: "0016-artifact-version-column",
  locks: "renames a column of artifact_versions and builds an index on it: reads and writes of it wait",
  statements: ({ query, types }) => [
    sql`alter table artifact_versions rename column version to artifact_version`,
    sql`alter table artifact_versions add column version ${types.integer} not null default 1`,
    sql`drop index artifact_versions_parent_version`,
    query.schema
      .createIndex("artifact_versions_parent_artifact_version")
      .unique()
      .on("artifact_versions")
      .columns(["parent", "artifact_version"]),
  ],
};
