/** Identity providers, the roles that they give to groups of their own, and whom they have signed in. */
import type { Migration } from "../migrate.ts";
import { resourceTable } from "./resource-table.ts";

/** 0002. */
export const identityProviders: Migration = {
  name: "0002-identity-providers",
  statements: (dialect) => [
    ...resourceTable(dialect, "identity_providers", {
      facets: { name: "text", issuer: "text", client_id: "text", default_role: "text" },
      indexes: [["issuer", "client_id"], ["default_role"]],
    }),
    ...resourceTable(dialect, "external_group_role_mappings", {
      facets: { external_group_id: "text", role_uid: "text" },
      unique: [["parent", "external_group_id", "role_uid"]],
      indexes: [["role_uid"]],
    }),
    ...resourceTable(dialect, "identity_provider_sign_ins", {}),
  ],
};
