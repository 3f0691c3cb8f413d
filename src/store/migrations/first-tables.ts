/** The first six migrations, which make tables and indexes. Those of resources have the layout that 0007 converts. */
import { partitionColumn } from "../logs/queue-entry.ts";
import type { Migration } from "../migration.ts";
import type { Dialect } from "../sql/dialect.ts";
import { keyedTable, type ResourceTable, resourceTableV1 } from "../sql/resource-table.ts";

/** The tables of resources, by migration. */
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

/** The migrations. */
export const firstTables: readonly Migration[] = Object.entries(unpackedTables).map(([name, tables]) => ({
  name,
  locks: "creates tables, locks nothing",
  statements: (dialect) => [
    ...Object.entries(tables).flatMap(([table, layout]) => resourceTableV1(dialect, table, layout)),
    ...(others[name]?.(dialect) ?? []),
  ],
}));

/** The tables that are not of resources, by migration. */
const others: Readonly<Record<string, (dialect: Dialect) => ReturnType<Migration["statements"]>>> = {
  "0001-foundation": (dialect) => [
    keyedTable(dialect, "settings", { name: "text", value: "bytes" }, ["name"]),
    keyedTable(
      dialect,
      "counters",
      { ancestor: "text", table_name: "text", class: "text", slot: "integer", count: "integer" },
      ["ancestor", "table_name", "class", "slot"],
    ).modifyEnd(dialect.clustered),
  ],
  "0004-sessions-audit": (dialect) => [
    keyedTable(
      dialect,
      "audit_log",
      {
        time_us: "integer",
        id: "text",
        caller: "text",
        issuer: "text",
        method: "text",
        scope: "text",
        resource: "text",
        code: "text",
        request_id: "text",
        count: "integer",
      },
      ["time_us", "id"],
    ).modifyEnd(dialect.clustered),
    index(dialect, "audit_log_caller", "audit_log", ["caller", "time_us", "id"]),
  ],
  "0006-delivery": (dialect) => [
    keyedTable(
      dialect,
      "events",
      {
        time_us: "integer",
        id: "text",
        type: "text",
        source: "text",
        subject: "text",
        extensions: "text",
        data: "text",
      },
      ["time_us", "id"],
    ),
    index(dialect, "events_id", "events", ["id"]),
    keyedTable(
      dialect,
      "deliveries",
      {
        [partitionColumn]: "text",
        id: "text",
        state: "integer",
        time_us: "integer",
        due_us: "integer",
        expire_us: "integer",
        attempts: "integer",
        tried_us: "integer",
        result: "text",
      },
      [partitionColumn, "id"],
    ).modifyEnd(dialect.clustered),
    index(dialect, "deliveries_due", "deliveries", ["state", partitionColumn, "due_us", "id"]),
    index(dialect, "deliveries_time", "deliveries", ["state", "time_us", "id", partitionColumn]),
  ],
};

function index({ query }: Dialect, name: string, table: string, columns: readonly string[]) {
  return query.schema
    .createIndex(name)
    .on(table)
    .columns([...columns]);
}
