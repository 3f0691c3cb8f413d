/**
 * The table of contents of the product: one line for each service that is mounted. This is the only place where domains meet; what one needs
 * of another it is given here.
 */
import type { DescService } from "@bufbuild/protobuf";
import type { TermsDocument } from "../config.ts";
import type { HasSubscriptions, SubscriptionSource } from "../delivery/index.ts";
import type { ServiceImplementation } from "../resource/index.ts";
import type { Database } from "../store/index.ts";
import { documentsOfFeeds } from "./advisory/documents.ts";
import { resolvedVulnsReports } from "./advisory/resolved-vulns-reports.ts";
import { securityAdvisoryService } from "./advisory/security-advisory.ts";
import { severitiesOf } from "./advisory/severities.ts";
import { createSubscriptionSource, type SubscriptionSourceOptions } from "./events/subscription-source.ts";
import { defineSubscriptions, subscriptionsService } from "./events/subscriptions.ts";
import { accountAssociations, accountAssociationsService, removeServiceBindings } from "./iam/account-associations.ts";
import { externalGroupRoleMappings, externalGroupRoleMappingsService } from "./iam/external-group-role-mappings.ts";
import { groupInvites, groupInvitesService, isPromised } from "./iam/group-invites.ts";
import { groups, groupsService } from "./iam/groups.ts";
import { identities, identitiesService } from "./iam/identities.ts";
import { identityProviders, identityProvidersService } from "./iam/identity-providers.ts";
import { roleBindings, roleBindingsService } from "./iam/role-bindings.ts";
import { namedIn, roles, rolesService } from "./iam/roles.ts";
import { termsAcceptances, termsService } from "./iam/terms.ts";
import { artifactsService } from "./libraries/artifacts.ts";
import { refreshVersions } from "./libraries/refresh-versions.ts";
import { pingService } from "./ping/ping.ts";
import { refreshDerived } from "./refresh-derived.ts";
import { registryContents as contentsOf } from "./registry/contents.ts";
import { imagesService } from "./registry/images.ts";
import { namedPackages } from "./registry/named-packages.ts";
import { defineRepos, reposService } from "./registry/repos.ts";
import { defineTags, tagsService } from "./registry/tags.ts";
import { advisoriesService, defineAdvisories } from "./vulnerabilities/advisories.ts";
import { advisoryWriter } from "./vulnerabilities/save-advisories.ts";

export { readFeedOrder, writeFeedOrder } from "../resource/index.ts";
export { pruneDocuments, saveDocument } from "./advisory/documents.ts";
export { pruneVulnerabilityMetadata, saveVulnerabilityMetadata } from "./advisory/vulnerability-metadata.ts";
export { ensureAdministrator, ensureFirstGroup, groupExists, identityExists } from "./iam/bootstrap.ts";
export { grantSource } from "./iam/grants.ts";
export { indexIdentities } from "./iam/identity-index.ts";
export { identitySource } from "./iam/identity-source.ts";
export { providerSource } from "./iam/provider-source.ts";
export { storeBuiltInRoles } from "./iam/roles.ts";
export { sessions } from "./iam/sessions.ts";
export {
  createTokenExchange,
  type ExchangeRequest,
  type IssuedToken,
  type NarrowingRequest,
  type TokenExchange,
} from "./iam/token-exchange.ts";
export { artifactUid } from "./libraries/artifact-id.ts";
export { pruneArtifacts } from "./libraries/prune-artifacts.ts";
export { type ArtifactRecord, removeArtifact, saveArtifact, type VersionRecord } from "./libraries/save-artifact.ts";
export type { RegistryContents, StoredRepo, StoredTag } from "./registry/contents.ts";
export { type ImagePackage, readImagePackages, removeImage, saveImagePackages } from "./registry/image-packages.ts";
export { type Image, readImages, saveImage } from "./registry/images.ts";
export type { AdvisoriesToSave, SavedAdvisories } from "./vulnerabilities/save-advisories.ts";

const repos = defineRepos(groups);
const tags = defineTags(repos);
const subscriptions = defineSubscriptions(groups);
const advisories = defineAdvisories(groups, severitiesOf);

const writer = advisoryWriter(advisories);
export const { prepareAdvisories, saveAdvisories, pruneAdvisories } = writer;

/** Brings rows that follow from others up to this version of the program, and to the order of the feeds. */
export function refreshDerivedRows(database: Database, now: () => number): Promise<void> {
  const derived = { feeds: [documentsOfFeeds, writer.advisoriesOfFeeds], versions: refreshVersions };
  return refreshDerived(database, derived, now);
}

export const registryContents = contentsOf(repos, tags);

/** Whether any of these groups has a subscription. */
export const hasSubscriptions: HasSubscriptions = (session, groups) => session.hasChildren(subscriptions.table, groups);

/** Supplies `delivery` with subscriptions. */
export function subscriptionSource(options: SubscriptionSourceOptions): SubscriptionSource {
  return createSubscriptionSource(subscriptions, options);
}

/** Settings that services depend on. */
export interface ServicesOptions {
  readonly openRootGroups: boolean;
  readonly termsDocuments: readonly TermsDocument[] | undefined;
  readonly allowLoopbackSinks: boolean;
}

/** Every service of the contract. */
export function createServices({
  openRootGroups,
  termsDocuments,
  allowLoopbackSinks,
}: ServicesOptions): readonly ServiceImplementation[] {
  return [
    pingService,
    groupsService({
      openRootGroups,
      blockedBy: [groups, repos, identities, roles, identityProviders, subscriptions, advisories],
      deletedWith: [roleBindings, groupInvites, accountAssociations, termsAcceptances],
      roleBindings,
    }),
    identitiesService(roleBindings, removeServiceBindings),
    rolesService([
      { isUsed: namedIn(roleBindings, "role_uid"), description: "is bound" },
      { isUsed: namedIn(identityProviders, "default_role"), description: "is the default of an identity provider" },
      { isUsed: namedIn(externalGroupRoleMappings, "role_uid"), description: "an external group is mapped to" },
      { isUsed: isPromised, description: "a group invite promises" },
    ]),
    roleBindingsService,
    reposService(repos, tags),
    tagsService(tags),
    identityProvidersService(externalGroupRoleMappings),
    accountAssociationsService,
    groupInvitesService,
    externalGroupRoleMappingsService,
    termsService(termsDocuments),
    imagesService(repos),
    advisoriesService(advisories),
    artifactsService,
    securityAdvisoryService(resolvedVulnsReports(namedPackages(repos, tags))),
    subscriptionsService(subscriptions, allowLoopbackSinks),
  ];
}

/** The descriptors of {@link createServices}, for listings. */
export const contractServices: readonly DescService[] = createServices({
  openRootGroups: false,
  termsDocuments: undefined,
  allowLoopbackSinks: false,
}).map(({ service }) => service);
