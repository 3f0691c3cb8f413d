/** Adds provisioning by SCIM: its settings, users, groups and members of groups. */
import type { Migration } from "../migration.ts";
import { resourceTable } from "../sql/resource-table.ts";

export const provisioning: Migration = {
  name: "0013-provisioning",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTable(dialect, "scim_settings", {
      columns: { token_digest: "text", previous_digest: "text" },
      indexes: [["token_digest"], ["previous_digest"]],
    }),
    ...resourceTable(dialect, "scim_users", {
      columns: { user_name: "text", external_id: "text", active: "integer", identity: "text" },
      unique: [["parent", "user_name"]],
      indexes: [
        ["parent", "external_id"],
        ["parent", "identity"],
      ],
    }),
    ...resourceTable(dialect, "scim_groups", {
      columns: { display_name: "text", external_id: "text" },
      indexes: [["parent", "external_id"]],
    }),
    ...resourceTable(dialect, "scim_members", { columns: { user_uid: "text" }, indexes: [["user_uid"]] }),
  ],
};
