/** Settings, counters, and the resources of the first domains: groups and who may do what in them, repositories and their tags. */
import type { Migration } from "../migrate.ts";
import { keyedTable, resourceTable } from "./resource-table.ts";

/** 0001. */
export const foundation: Migration = {
  name: "0001-foundation",
  statements: (dialect) => [
    keyedTable(dialect, "settings", { name: "text", value: "bytes" }, ["name"]),
    keyedTable(
      dialect,
      "counters",
      { ancestor: "text", table_name: "text", class: "text", slot: "integer", count: "integer" },
      ["ancestor", "table_name", "class", "slot"],
    ).modifyEnd(dialect.clustered),
    ...resourceTable(dialect, "groups", { facets: { name: "text", verified: "integer" } }),
    ...resourceTable(dialect, "identities", {
      facets: { name: "text", relationship: "integer", issuer: "text", subject: "text", last_seen_us: "integer" },
      indexes: [["issuer", "subject"], ["relationship"]],
    }),
    ...resourceTable(dialect, "roles", { facets: { name: "text" } }),
    ...resourceTable(dialect, "role_bindings", {
      facets: { identity_uid: "text", role_uid: "text" },
      indexes: [["identity_uid"], ["role_uid"]],
    }),
    ...resourceTable(dialect, "repos", { facets: { name: "text" }, unique: [["parent", "name"]] }),
    ...resourceTable(dialect, "repo_readmes", {}),
    ...resourceTable(dialect, "tags", {
      facets: { name: "text", digest: "text", family: "text" },
      unique: [["parent", "name"]],
      indexes: [["digest"], ["parent", "family"]],
    }),
  ],
};
