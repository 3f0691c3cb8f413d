/** Indexes that find the audit records of a group, those of the groups below it included. */
import { placeIndexes } from "../logs/places.ts";
import type { Migration } from "../migration.ts";

export const auditPlaces: Migration = {
  name: "0017-audit-places",
  locks: "builds six indexes on audit_log: calls that change something wait, for some seconds per million records",
  statements: (dialect) =>
    placeIndexes(dialect, "audit_log", { scope: "scope", resource: "resource", caller: "caller" }),
};
