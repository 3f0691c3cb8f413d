/** Settings, counters, and the first resources: groups, identities, roles, role bindings, repositories and tags. */
import type { Migration } from "../migration.ts";
import { keyedTable, resourceTableV1 } from "../sql/resource-table.ts";

/** 0001. */
export const foundation: Migration = {
  name: "0001-foundation",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    keyedTable(dialect, "settings", { name: "text", value: "bytes" }, ["name"]),
    keyedTable(
      dialect,
      "counters",
      { ancestor: "text", table_name: "text", class: "text", slot: "integer", count: "integer" },
      ["ancestor", "table_name", "class", "slot"],
    ).modifyEnd(dialect.clustered),
    ...resourceTableV1(dialect, "groups", { columns: { name: "text", verified: "integer" } }),
    ...resourceTableV1(dialect, "identities", {
      columns: { name: "text", relationship: "integer", issuer: "text", subject: "text", last_seen_us: "integer" },
      indexes: [["issuer", "subject"], ["relationship"]],
    }),
    ...resourceTableV1(dialect, "roles", { columns: { name: "text" } }),
    ...resourceTableV1(dialect, "role_bindings", {
      columns: { identity_uid: "text", role_uid: "text" },
      indexes: [["identity_uid"], ["role_uid"]],
    }),
    ...resourceTableV1(dialect, "repos", { columns: { name: "text" }, unique: [["parent", "name"]] }),
    ...resourceTableV1(dialect, "repo_readmes", {}),
    ...resourceTableV1(dialect, "tags", {
      columns: { name: "text", digest: "text", family: "text" },
      unique: [["parent", "name"]],
      indexes: [["digest"], ["parent", "family"]],
    }),
  ],
};
