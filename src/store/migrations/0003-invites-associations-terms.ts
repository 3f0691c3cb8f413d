/** Invites to groups, accounts that groups have elsewhere, and which documents groups have accepted. */
import type { Migration } from "../migrate.ts";
import { resourceTable } from "./resource-table.ts";

/** 0003. */
export const invitesAssociationsTerms: Migration = {
  name: "0003-invites-associations-terms",
  statements: (dialect) => [
    ...resourceTable(dialect, "group_invites", { facets: { key_id: "text" }, unique: [["key_id"]] }),
    ...resourceTable(dialect, "account_associations", { facets: { name: "text" } }),
    ...resourceTable(dialect, "terms_acceptances", { facets: { doc_id: "text" }, unique: [["parent", "doc_id"]] }),
  ],
};
