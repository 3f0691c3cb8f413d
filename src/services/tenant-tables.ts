/** The tables of tenants: each of their rows belongs to one organisation. Citus distributes them. */
import type { Resource } from "../resource/index.ts";
import { vexFiles, vexStatements } from "./documents/vex-documents.ts";
import { findingDays, findingStates } from "./findings/summary/stored-counts.ts";
import { groupsTable, membersTable, usersTable } from "./iam/provisioning/directory.ts";
import { provisioningTable } from "./iam/provisioning/settings.ts";
import { signIns } from "./iam/provisioning/sign-ins.ts";
import { imageContents, imageMembers } from "./matches/tables.ts";
import { images } from "./registry/images.ts";
import { imagePackages } from "./registry/package-lists.ts";
import { sbomFiles } from "./registry/sbom-documents.ts";
import { tagMoves } from "./registry/tag-moves.ts";
import { reportTables } from "./registry/vuln-reports.ts";

/** The names of the tables, of what is below groups and of what belongs to it. That of groups is the first. */
export function tenantTablesOf(resources: Iterable<Resource>): readonly string[] {
  const below = [...resources].filter(({ isOfTenant }) => isOfTenant).map(({ table }) => table);
  const others = [
    signIns,
    usersTable,
    groupsTable,
    membersTable,
    provisioningTable,
    images,
    imagePackages,
    imageContents,
    imageMembers,
    findingStates,
    findingDays,
    tagMoves,
    sbomFiles,
    vexStatements,
    vexFiles,
  ];
  return [...new Set([...below, ...others, ...reportTables].map(({ name }) => name))];
}
