/** Identity providers, their mappings of external groups to roles, and the users that they have signed in. */
import type { Migration } from "../migration.ts";
import { resourceTableV1 } from "../sql/resource-table.ts";

/** 0002. */
export const identityProviders: Migration = {
  name: "0002-identity-providers",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTableV1(dialect, "identity_providers", {
      columns: { name: "text", issuer: "text", client_id: "text", default_role: "text" },
      indexes: [["issuer", "client_id"], ["default_role"]],
    }),
    ...resourceTableV1(dialect, "external_group_role_mappings", {
      columns: { external_group_id: "text", role_uid: "text" },
      unique: [["parent", "external_group_id", "role_uid"]],
      indexes: [["role_uid"]],
    }),
    ...resourceTableV1(dialect, "identity_provider_sign_ins", {}),
  ],
};
