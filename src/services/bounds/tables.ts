/** What keeps the tables of services from growing without end. */
import type { Resource, RowChange } from "../../resource/index.ts";
import type { Database, Row, TableSpec, WriteSession } from "../../store/index.ts";
import { parentOf } from "../../uid.ts";
import { vexDocuments, vexFiles, vexStatements } from "../documents/vex-documents.ts";
import { findingDays, findingStates } from "../findings/summary/stored-counts.ts";
import { endOfInvite, groupInvites } from "../iam/group-invites.ts";
import { identities } from "../iam/identities.ts";
import { identityProviders } from "../iam/identity-providers.ts";
import { groupsTable, membersTable, usersTable } from "../iam/provisioning/directory.ts";
import { provisioningTable } from "../iam/provisioning/settings.ts";
import { signIns } from "../iam/provisioning/sign-ins.ts";
import { roleBindings } from "../iam/role-bindings.ts";
import { sessions } from "../iam/tokens/sessions.ts";
import { imageContents, imageMembers } from "../matches/tables.ts";
import { repos } from "../registry/repos.ts";
import { sbomDocuments, sbomFiles } from "../registry/sbom-documents.ts";
import { tagMoves } from "../registry/tag-moves.ts";
import { reportTables } from "../registry/vuln-reports.ts";
import { removeOrphans } from "./orphans.ts";
import { removeUnusedUsers } from "./unused-users.ts";

/** What keeps a table from growing without end. A table may have several: at least one. */
export type TableBound = { readonly table: string } & (
  | { readonly quota: string }
  /** Removes some of the rows that have ended, and returns whether it should run again at once. */
  | { readonly end: () => Promise<boolean> }
  /** The rows of a table that expire, each at its own time. */
  | { readonly expiring: Expiring }
  | { readonly because: string }
);

/** Rows that expire. Their table has an indexed column `expire_us`. */
export interface Expiring {
  readonly table: TableSpec;
  /** When a row expires whose column is 0, because it is from before there was one, in microseconds since 1970. */
  expireUsOf?(row: Row): number;
  /** Called in the transaction with what is removed. */
  onRemoved?(session: WriteSession, rows: readonly Row[]): Promise<void>;
}

/** What {@link boundsOfTables} needs. */
export interface BoundOptions {
  readonly database: Database;
  readonly resources: readonly Resource[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Records the events of what is removed. */
  record(session: WriteSession, changes: readonly RowChange[]): Promise<void>;
}

const byOperator = "commands of the operator and notifications of a registry write it";

/** The bounds. A resource that is below a group has a quota by its declaration. */
export function boundsOfTables({ database, resources, now, record }: BoundOptions): readonly TableBound[] {
  const removed = (resource: Resource) => (session: WriteSession, rows: readonly Row[]) =>
    record(
      session,
      rows.map((row) => ({ kind: "deleted", resource, row })),
    );
  const orphans = (table: TableSpec, owner: TableSpec, more: Partial<Parameters<typeof removeOrphans>[1]> = {}) => ({
    table: table.name,
    end: removeOrphans(database, { table, owner, ...more }),
  });
  const providers = identityProviders.table;
  const ofBinding = {
    // A user may be bound before the first sign-in.
    ownerOf: ({ columns }: Row) =>
      parentOf(String(columns.identity_uid)) === "" ? undefined : String(columns.identity_uid),
    onRemoved: removed(roleBindings),
  };
  const tables = [...resources.map(({ table }) => table), signIns, usersTable, groupsTable, membersTable];
  const documents = [sbomFiles, vexFiles, vexStatements, ...reportTables];
  return [
    ...[...tables, ...documents].flatMap(({ name, quota, byteQuota }) =>
      [quota, byteQuota].flatMap((one) => (one === undefined ? [] : [{ table: name, quota: one }])),
    ),
    ...resources.flatMap(({ table, declaration }) =>
      declaration.partOf === undefined ? [] : [{ table: table.name, because: "one row at most for each of its owner" }],
    ),
    {
      table: "group_invites",
      expiring: { table: groupInvites.table, expireUsOf: endOfInvite, onRemoved: removed(groupInvites) },
    },
    { table: sessions.name, expiring: { table: sessions } },
    { table: identities.table.name, end: removeUnusedUsers(database, now) },
    orphans(roleBindings.table, identities.table, ofBinding),
    orphans(signIns, providers),
    orphans(usersTable, providers),
    orphans(groupsTable, providers),
    orphans(membersTable, groupsTable),
    orphans(membersTable, usersTable, { ownerOf: ({ columns }) => String(columns.user_uid) }),
    orphans(sbomFiles, sbomDocuments.table, { ownerOf: ({ uid }) => uid }),
    orphans(vexStatements, vexDocuments.table, { ownerOf: ({ uid }) => uid }),
    orphans(vexFiles, vexDocuments.table, { ownerOf: ({ uid }) => uid }),
    orphans(provisioningTable, providers, { ownerOf: ({ uid }) => uid }),
    ...[
      "feed_documents",
      "documents",
      "vulnerability_metadata",
      "artifacts",
      "artifact_versions",
      "products",
      "vulnerabilities",
      "vulnerability_records",
      "affected_packages",
      "exploit_scores",
      "known_exploits",
    ].map((table) => ({ table, because: byOperator })),
    ...["components", "component_matches"].map((table) => ({
      table,
      because: "each distinct package of all images has one row, whatever number of images contains it",
    })),
    orphans(imageContents, repos.table),
    orphans(imageMembers, repos.table),
    orphans(tagMoves, repos.table),
    orphans(findingStates, repos.table),
    orphans(findingDays, repos.table),
    ...["images", "image_packages", "vuln_reports", "vuln_report_findings", "vuln_report_files"].map((table) => ({
      table,
      because: `${byOperator}, and uploads, whose documents have a quota; it is removed with its repo`,
    })),
    { table: "feed_advisories", because: "what calls write is one row for each advisory, which has a quota" },
  ];
}
