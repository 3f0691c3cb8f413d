/** Adds the indexes that have search texts, where the database uses them. */
import type { Migration } from "./migration.ts";

/** 0014. */
export const textScans: Migration = {
  name: "0014-text-scans",
  statements: ({ textScans }) =>
    textScans === undefined ? [] : ["advisories", "artifacts"].map((table) => textScans.create(table, "search")),
};
