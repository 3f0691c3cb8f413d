/**
 * The services of the product, one line for each that is mounted. A domain imports what it needs of another one. What
 * would make a circle of imports is passed in here.
 */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { TermsDocument } from "../config/index.ts";
import type { HasSubscriptions } from "../delivery/index.ts";
import { type MountedService, mount } from "../resource/index.ts";
import type { Database } from "../store/index.ts";
import { documentsOfFeeds } from "./advisory/documents.ts";
import { securityAdvisoryService } from "./advisory/security-advisory.ts";
import { auditService } from "./audit/audit-records.ts";
import { documentsService } from "./documents/documents-service.ts";
import { deliveriesService } from "./events/deliveries.ts";
import { subscriptions, subscriptionsService } from "./events/subscriptions.ts";
import { analysesService } from "./findings/analyses-service.ts";
import { findingsService } from "./findings/findings.ts";
import { findingImagesService } from "./findings/images.ts";
import { KnownComponents } from "./findings/known/components.ts";
import { summarizingFindings } from "./findings/summary/summarize-findings.ts";
import { accessService } from "./iam/access/access.ts";
import { accountAssociationsService, removeServiceBindings } from "./iam/account-associations.ts";
import { keepingAnOwner } from "./iam/auth/last-owner.ts";
import { externalGroupRoleMappings, externalGroupRoleMappingsService } from "./iam/external-group-role-mappings.ts";
import { groupInvitesService, isPromised } from "./iam/group-invites.ts";
import { groupsService } from "./iam/groups.ts";
import { identitiesService } from "./iam/identities.ts";
import { identityProviders, identityProvidersService } from "./iam/identity-providers.ts";
import { bindingsOfUsers, roleBindings, roleBindingsService } from "./iam/role-bindings.ts";
import { namedIn, rolesService } from "./iam/roles.ts";
import { termsService } from "./iam/terms.ts";
import { artifactsService } from "./libraries/artifacts.ts";
import { refreshVersions } from "./libraries/refresh-versions.ts";
import { vulnerabilitiesService } from "./matches/vulnerabilities.ts";
import { pingService } from "./ping/ping.ts";
import { refreshDerived } from "./refresh-derived.ts";
import { refreshImages } from "./registry/image-components.ts";
import { imagesService } from "./registry/images.ts";
import { repos } from "./registry/repos.ts";
import { reposService } from "./registry/repos-service.ts";
import { tagsService } from "./registry/tags.ts";
import { searchService } from "./search/names.ts";
import { tenantTablesOf } from "./tenant-tables.ts";
import { createServicesOfV1 } from "./v1/index.ts";
import { advisoriesService } from "./vulnerabilities/advisories.ts";
import { advisoriesOfFeeds } from "./vulnerabilities/save-advisories.ts";

export { apiFeed, type RowChange, readFeedOrder, writeFeedOrder } from "../resource/index.ts";
export { recordsOfDocument, unmatchedIn } from "./advisory/document-facts.ts";
export { pruneDocuments, saveDocument } from "./advisory/documents.ts";
export { pruneVulnerabilityMetadata, saveVulnerabilityMetadata } from "./advisory/vulnerability-metadata.ts";
export { type BoundOptions, boundsOfTables, type Expiring, type TableBound } from "./bounds/tables.ts";
export { readFeedStates, readIssuers, readSinks } from "./diagnosis.ts";
export { maxUploadBytes } from "./documents/uploads.ts";
export { type GroupVex, vexBelow } from "./documents/vex-documents.ts";
export { subscriptionSource } from "./events/subscription-source.ts";
export { KnownComponents } from "./findings/known/components.ts";
export { recordFindingDays } from "./findings/summary/record-days.ts";
export { explainAccess } from "./iam/access/explain.ts";
export type { Reader } from "./iam/access/found-grants.ts";
export { allAccess } from "./iam/access/list.ts";
export { lockAccess } from "./iam/access-lock.ts";
export { separateDirectoryUsers } from "./iam/auth/directory-users.ts";
export { grantSource } from "./iam/auth/grants.ts";
export { indexIdentities } from "./iam/auth/identity-index.ts";
export { identitySource } from "./iam/auth/identity-source.ts";
export { providerSource } from "./iam/auth/provider-source.ts";
export { deprovisionIdentity, identityOfEntry } from "./iam/auth/provisioned-users.ts";
export {
  ensureAdministrator,
  ensureFirstGroup,
  groupExists,
  hasAdministrator,
  identityExists,
} from "./iam/bootstrap.ts";
export { administratorRole, builtInRoles } from "./iam/built-in-roles.ts";
export { installationSetting } from "./iam/installation-lock.ts";
export {
  changeMembers,
  countEntries,
  countMembers,
  type Entry,
  findMissing,
  findUser,
  groupsOf,
  groupsOfMany,
  groupsWith,
  idOf,
  isMember,
  membersOf,
  type Narrowing,
  pageOfEntries,
  readEntries,
  readEntry,
  removeEntry,
  saveEntry,
} from "./iam/provisioning/directory.ts";
export { findProvider as findProvisioningProvider } from "./iam/provisioning/settings.ts";
export { storeBuiltInRoles } from "./iam/roles.ts";
export {
  type IssuedToken,
  type NarrowingRequest,
  TokenExchange,
} from "./iam/tokens/token-exchange.ts";
export { artifactUid } from "./libraries/artifact-id.ts";
export { pruneArtifacts } from "./libraries/prune-artifacts.ts";
export { type ArtifactToSave, saveArtifact } from "./libraries/save-artifact.ts";
export { blockOf, type ScoreBlock } from "./matches/exploit-scores.ts";
export {
  pruneExploitScores,
  pruneKnown,
  saveExploitScores,
  saveKnown,
} from "./matches/exploits.ts";
export { FactWriter, FactWriters, pruneRecords, type RecordToSave, sourceUid } from "./matches/fact-writer.ts";
export { type FeedClaim, type ImportedFeed, readFeeds, saveFeed } from "./matches/feed-claims.ts";
export { derivedChanges } from "./refresh-derived.ts";
export { DocumentNotes } from "./registry/document-notes.ts";
export { saveImage } from "./registry/image-components.ts";
export {
  type ImagePackage,
  type ImageSbom,
  joinedLists,
  readImagePackages,
  removeImage,
  saveImagePackages,
  saveImageSboms,
} from "./registry/image-packages.ts";
export { type Image, type ReadSbom, readImages } from "./registry/images.ts";
export { type Product, saveProduct } from "./registry/products.ts";
export { registryContents, type StoredTag } from "./registry/registry-contents.ts";
export { packDocument, type SbomDocumentToSave } from "./registry/sbom-documents.ts";
export { packReport, saveReport } from "./registry/vuln-reports.ts";
export { type SealedKind, sealedKinds } from "./sealed.ts";
export { prepareAdvisories, pruneAdvisories, saveAdvisories } from "./vulnerabilities/save-advisories.ts";

/** Brings derived rows up to date with this version of the program and with the order of the feeds. */
export function refreshDerivedRows(database: Database, now: () => number): Promise<void> {
  const feeds = [documentsOfFeeds, advisoriesOfFeeds];
  const derived = { feeds, versions: refreshVersions, images: refreshImages };
  return refreshDerived(database, derived, now);
}

/** Whether any of these groups has a subscription. */
export const hasSubscriptions: HasSubscriptions = async (session, groups) =>
  session.hasChildren(subscriptions.table, groups);

/** Settings that services depend on. */
interface ServicesOptions {
  readonly openRootGroups: boolean;
  readonly termsDocuments: readonly TermsDocument[] | undefined;
  readonly allowLoopbackSinks: boolean;
  /** The most items of a list that v1 answers whole. Read for every call. */
  readonly v1MaxListItems: number;
}

/**
 * Every service of the contract. `onCallOfV1`: called for every call of v1 that has succeeded. `components`: what is
 * known about components.
 */
export function createServices(
  options: ServicesOptions,
  onCallOfV1?: (method: DescMethod) => void,
  components = new KnownComponents(),
): readonly MountedService[] {
  const successors = createServicesOfV2(options, components);
  const { openRootGroups } = options;
  const maxListItems = () => options.v1MaxListItems;
  return [...successors, ...createServicesOfV1({ successors, openRootGroups, maxListItems, onCall: onCallOfV1 })];
}

/** The services of v2. The deletion of a group reports its children in the order of these lines. */
function createServicesOfV2(
  { openRootGroups, termsDocuments, allowLoopbackSinks }: ServicesOptions,
  components: KnownComponents,
): readonly MountedService[] {
  const services = [
    pingService,
    groupsService({ openRootGroups, roleBindings }),
    reposService,
    tagsService,
    imagesService(repos),
    documentsService(),
    analysesService(components),
    identitiesService(roleBindings, removeServiceBindings),
    rolesService([
      { isUsed: namedIn(roleBindings, "role_uid"), description: "is bound" },
      { isUsed: namedIn(identityProviders, "default_role"), description: "is the default of an identity provider" },
      { isUsed: namedIn(externalGroupRoleMappings, "role_uid"), description: "an external group is mapped to" },
      { isUsed: isPromised, description: "a group invite promises" },
    ]),
    roleBindingsService,
    groupInvitesService,
    accountAssociationsService,
    termsService(termsDocuments),
    identityProvidersService(externalGroupRoleMappings, bindingsOfUsers, keepingAnOwner),
    externalGroupRoleMappingsService,
    subscriptionsService(allowLoopbackSinks),
    deliveriesService(() => contractServices),
    accessService,
    auditService,
    advisoriesService,
    artifactsService,
    securityAdvisoryService,
    findingsService(components, { summarizeFindings: summarizingFindings(components) }),
    findingImagesService(repos, components),
    vulnerabilitiesService,
  ];
  return mount([...services, searchService(services)]);
}

/** Services of the contract that this server does not mount, by full name, with the reason. */
export const notServed: ReadonlyMap<string, string> = new Map();

/**
 * Methods that need a capability which only the first administrator's role has, by full name, with the reason:
 * `platform.iam.v2.GroupsService.GetGroup`.
 */
export const administratorOnly: ReadonlyMap<string, string> = new Map();

const listed = createServices({
  openRootGroups: false,
  termsDocuments: undefined,
  allowLoopbackSinks: false,
  v1MaxListItems: 0,
});

/** The descriptors of {@link createServices}, for listings. */
export const contractServices: readonly DescService[] = listed.map(({ service }) => service);

/** The tables whose rows belong to one organisation each. */
export const tenantTables: readonly string[] = tenantTablesOf(listed.flatMap(({ resources }) => resources));
