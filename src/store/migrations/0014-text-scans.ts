/** Adds the indexes that have search texts, where the database uses them. */
import type { Migration } from "../migration.ts";

export const textScans: Migration = {
  name: "0014-text-scans",
  locks: "builds indexes on search texts, on PostgreSQL: writes of advisories and artifacts wait",
  statements: ({ textScans }) =>
    textScans === undefined ? [] : ["advisories", "artifacts"].map((table) => textScans.create(table, "search")),
};
