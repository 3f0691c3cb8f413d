/**
 * The services of the product, one line for each that is mounted. Only this file joins domains: what one needs of
 * another is passed to it here.
 */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { TermsDocument } from "../config/index.ts";
import type { HasSubscriptions, SubscriptionSource } from "../delivery/index.ts";
import { type MountedService, mount } from "../resource/index.ts";
import type { Database, ReadSession } from "../store/index.ts";
import { documentsOfFeeds } from "./advisory/documents.ts";
import { resolvedVulnsReports } from "./advisory/resolved-vulns-reports.ts";
import { securityAdvisoryService } from "./advisory/security-advisory.ts";
import { severitiesOf } from "./advisory/severities.ts";
import { auditService } from "./audit/audit-records.ts";
import { readSinks as sinksOf } from "./diagnosis.ts";
import { deliveriesService } from "./events/deliveries.ts";
import { defineDeliverySettings } from "./events/delivery-settings.ts";
import { createSubscriptionSource, type SubscriptionSourceOptions } from "./events/subscription-source.ts";
import { defineSubscriptions, subscriptionsService } from "./events/subscriptions.ts";
import { accessService } from "./iam/access/access.ts";
import { accountAssociationsService, removeServiceBindings } from "./iam/account-associations.ts";
import { keepingAnOwner } from "./iam/auth/last-owner.ts";
import { externalGroupRoleMappings, externalGroupRoleMappingsService } from "./iam/external-group-role-mappings.ts";
import { groupInvitesService, isPromised } from "./iam/group-invites.ts";
import { groups, groupsService } from "./iam/groups.ts";
import { identitiesService } from "./iam/identities.ts";
import { identityProviders, identityProvidersService } from "./iam/identity-providers.ts";
import { bindingsOfUsers, roleBindings, roleBindingsService } from "./iam/role-bindings.ts";
import { namedIn, rolesService } from "./iam/roles.ts";
import { termsService } from "./iam/terms.ts";
import { artifactsService } from "./libraries/artifacts.ts";
import { refreshVersions } from "./libraries/refresh-versions.ts";
import { pingService } from "./ping/ping.ts";
import { refreshDerived } from "./refresh-derived.ts";
import { imagesService } from "./registry/images.ts";
import { namedPackages } from "./registry/named-packages.ts";
import { registryContents as contentsOf } from "./registry/registry-contents.ts";
import { defineReadmes, defineRepos, reposService } from "./registry/repos.ts";
import { defineTags, tagsService } from "./registry/tags.ts";
import { type SealedKind, sealedClientSecrets, sealedSigningSecrets } from "./sealed.ts";
import { searchService } from "./search/names.ts";
import { tenantTablesOf } from "./tenant-tables.ts";
import { advisoriesOfV1, createServicesOfV1, groupsOfV1, registryOfV1, vulnerabilitiesOfV1 } from "./v1/index.ts";
import { advisoriesService, defineAdvisories } from "./vulnerabilities/advisories.ts";
import { advisoryEditor } from "./vulnerabilities/edit-advisories.ts";
import { advisoryWriter } from "./vulnerabilities/save-advisories.ts";

export { apiFeed, type RowChange, readFeedOrder, writeFeedOrder } from "../resource/index.ts";
export { pruneDocuments, saveDocument } from "./advisory/documents.ts";
export { pruneVulnerabilityMetadata, saveVulnerabilityMetadata } from "./advisory/vulnerability-metadata.ts";
export { type BoundOptions, boundsOfTables, type Expiring, type TableBound } from "./bounds/tables.ts";
export { readIssuers } from "./diagnosis.ts";
export { explainAccess } from "./iam/access/explain.ts";
export type { Reader } from "./iam/access/found-grants.ts";
export { type AccessQuery, allAccess } from "./iam/access/list.ts";
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
  createTokenExchange,
  type IssuedToken,
  type NarrowingRequest,
  type TokenExchange,
} from "./iam/tokens/token-exchange.ts";
export { artifactUid } from "./libraries/artifact-id.ts";
export { pruneArtifacts } from "./libraries/prune-artifacts.ts";
export { type ArtifactToSave, saveArtifact } from "./libraries/save-artifact.ts";
export { derivedChanges } from "./refresh-derived.ts";
export {
  type ImagePackage,
  readImagePackages,
  removeImage,
  saveImagePackages,
  saveImageSboms,
} from "./registry/image-packages.ts";
export { type Image, type ReadSbom, readImages, saveImage } from "./registry/images.ts";
export { type Product, saveProduct } from "./registry/products.ts";
export type { StoredTag } from "./registry/registry-contents.ts";
export { packReport, type ReportToSave, saveReport } from "./registry/vuln-reports.ts";
export type { SealedKind } from "./sealed.ts";

const repos = defineRepos(groups);
const readmes = defineReadmes(groups, repos);
const tags = defineTags(repos);
const subscriptions = defineSubscriptions(groups);
const deliverySettings = defineDeliverySettings(groups, subscriptions);
const advisories = defineAdvisories(groups, severitiesOf);

const writer = advisoryWriter(advisories);
export const { prepareAdvisories, saveAdvisories, pruneAdvisories } = writer;

/** Brings derived rows up to date with this version of the program and with the order of the feeds. */
export function refreshDerivedRows(database: Database, now: () => number): Promise<void> {
  const derived = { feeds: [documentsOfFeeds, writer.advisoriesOfFeeds], versions: refreshVersions };
  return refreshDerived(database, derived, now);
}

export const registryContents = contentsOf(repos, tags);

/** The sinks of enabled subscriptions, at most `max` different origins, each with one address. */
export const readSinks = (session: ReadSession, max: number) => sinksOf(subscriptions, session, max);

/** The secrets in rows of resources. */
export const sealedKinds: readonly SealedKind[] = [sealedClientSecrets, sealedSigningSecrets(subscriptions)];

/** Whether any of these groups has a subscription. */
export const hasSubscriptions: HasSubscriptions = async (session, groups) =>
  session.hasChildren(subscriptions.table, groups);

/** Supplies `delivery` with subscriptions. */
export function subscriptionSource(options: SubscriptionSourceOptions): SubscriptionSource {
  return createSubscriptionSource(subscriptions, deliverySettings, options);
}

/** Settings that services depend on. */
interface ServicesOptions {
  readonly openRootGroups: boolean;
  readonly termsDocuments: readonly TermsDocument[] | undefined;
  readonly allowLoopbackSinks: boolean;
  /** The most items of a list that v1 answers whole. Read for every call. */
  readonly v1MaxListItems: number;
}

/** Every service of the contract. `onCallOfV1`: called for every call of v1 that has succeeded. */
export function createServices(
  options: ServicesOptions,
  onCallOfV1?: (method: DescMethod) => void,
): readonly MountedService[] {
  const services = createServicesOfV2(options);
  const maxListItems = () => options.v1MaxListItems;
  const others = [
    advisoriesOfV1(advisoryEditor(advisories, writer)),
    groupsOfV1(options.openRootGroups),
    registryOfV1({ repos, readmes, tags }),
    vulnerabilitiesOfV1({ repos, tags }, maxListItems),
  ];
  const ofV1 = createServicesOfV1({
    successors: services,
    others,
    maxListItems,
    onCall: onCallOfV1,
  });
  return [...services, ...ofV1];
}

/** The services of v2. The deletion of a group reports its children in the order of these lines. */
function createServicesOfV2({
  openRootGroups,
  termsDocuments,
  allowLoopbackSinks,
}: ServicesOptions): readonly MountedService[] {
  const services = [
    pingService,
    groupsService({ openRootGroups, roleBindings }),
    reposService(repos, readmes),
    tagsService(tags),
    imagesService(repos),
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
    subscriptionsService(subscriptions, allowLoopbackSinks),
    deliveriesService(subscriptions, deliverySettings, () => contractServices),
    accessService,
    auditService,
    advisoriesService(advisories),
    artifactsService,
    securityAdvisoryService(resolvedVulnsReports(namedPackages(repos, tags))),
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
