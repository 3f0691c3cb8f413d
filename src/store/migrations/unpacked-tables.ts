/** The tables of resources that the first migrations make, in the layout that 0007 converts. */
import type { ResourceTable } from "../sql/resource-table.ts";

/** By migration, then by table. */
export const unpackedTables = {
  "0001-foundation": {
    groups: { columns: { name: "text", verified: "integer" } },
    identities: {
      columns: { name: "text", relationship: "integer", issuer: "text", subject: "text", last_seen_us: "integer" },
      indexes: [["issuer", "subject"], ["relationship"]],
    },
    roles: { columns: { name: "text" } },
    role_bindings: {
      columns: { identity_uid: "text", role_uid: "text" },
      indexes: [["identity_uid"], ["role_uid"]],
    },
    repos: { columns: { name: "text" }, unique: [["parent", "name"]] },
    repo_readmes: {},
    tags: {
      columns: { name: "text", digest: "text", family: "text" },
      unique: [["parent", "name"]],
      indexes: [["digest"], ["parent", "family"]],
    },
  },
  "0002-identity-providers": {
    identity_providers: {
      columns: { name: "text", issuer: "text", client_id: "text", default_role: "text" },
      indexes: [["issuer", "client_id"], ["default_role"]],
    },
    external_group_role_mappings: {
      columns: { external_group_id: "text", role_uid: "text" },
      unique: [["parent", "external_group_id", "role_uid"]],
      indexes: [["role_uid"]],
    },
    identity_provider_sign_ins: {},
  },
  "0003-invites-associations-terms": {
    group_invites: { columns: { key_id: "text" }, unique: [["key_id"]] },
    account_associations: { columns: { name: "text" } },
    terms_acceptances: { columns: { doc_id: "text" }, unique: [["parent", "doc_id"]] },
  },
  "0004-sessions-audit": {
    sessions: { columns: { family: "text", expire_us: "integer" }, unique: [["family"]], indexes: [["expire_us"]] },
    idempotent_answers: { columns: { expire_us: "integer" }, indexes: [["expire_us"]] },
  },
  "0005-advisories-libraries-images": {
    documents: { columns: { id: "text", identifiers: "texts" }, unique: [["id"]] },
    vulnerability_metadata: { columns: { id: "text", identifiers: "texts" }, unique: [["id"]] },
    advisories: { columns: { terms: "texts", search: "search" } },
    artifacts: { columns: { name: "text", ecosystem: "integer", search: "search" }, unique: [["ecosystem", "name"]] },
    artifact_versions: {
      columns: { version: "text", version_order: "text" },
      unique: [["parent", "version"]],
      indexes: [["parent", "version_order"]],
    },
    images: { columns: { digest: "text" }, unique: [["parent", "digest"]] },
    image_packages: {},
  },
  "0006-delivery": { subscriptions: {} },
} as const satisfies Record<string, Record<string, ResourceTable>>;
