/** Invites to groups, account associations, and the terms that groups have accepted. */
import type { Migration } from "../migration.ts";
import { resourceTableV1 } from "../sql/resource-table.ts";

/** 0003. */
export const invitesAssociationsTerms: Migration = {
  name: "0003-invites-associations-terms",
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...resourceTableV1(dialect, "group_invites", { columns: { key_id: "text" }, unique: [["key_id"]] }),
    ...resourceTableV1(dialect, "account_associations", { columns: { name: "text" } }),
    ...resourceTableV1(dialect, "terms_acceptances", { columns: { doc_id: "text" }, unique: [["parent", "doc_id"]] }),
  ],
};
