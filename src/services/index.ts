/**
 * The table of contents of the product: one line for each service that is mounted. This is the only place where domains meet; what one needs
 * of another it is given here.
 */
import type { DescService } from "@bufbuild/protobuf";
import { SecurityAdvisoryService } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { SubscriptionsService } from "../../gen/platform/events/v2/subscriptions_pb.ts";
import { ArtifactsService } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import { ImagesService } from "../../gen/platform/registry/v2/images_pb.ts";
import { AdvisoriesService } from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import type { TermsDocument } from "../config.ts";
import { notYetServed, type ServiceImplementation } from "../resource/index.ts";
import { accountAssociations, accountAssociationsService } from "./iam/account-associations.ts";
import { externalGroupRoleMappings, externalGroupRoleMappingsService } from "./iam/external-group-role-mappings.ts";
import { groupInvites, groupInvitesService } from "./iam/group-invites.ts";
import { groups, groupsService } from "./iam/groups.ts";
import { identities, identitiesService } from "./iam/identities.ts";
import { identityProviders, identityProvidersService } from "./iam/identity-providers.ts";
import { roleBindings, roleBindingsService } from "./iam/role-bindings.ts";
import { roles, rolesService } from "./iam/roles.ts";
import { termsAcceptances, termsService } from "./iam/terms.ts";
import { pingService } from "./ping/ping.ts";
import { defineRepos, reposService } from "./registry/repos.ts";
import { defineTags, tagsService } from "./registry/tags.ts";

export { ensureAdministrator, ensureFirstGroup, identityExists } from "./iam/bootstrap.ts";
export { grantSource } from "./iam/grants.ts";
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

const repos = defineRepos(groups);
const tags = defineTags(repos);

/** Settings that services depend on. */
export interface ServicesOptions {
  readonly openRootGroups: boolean;
  readonly termsDocuments: readonly TermsDocument[] | undefined;
}

/** Every service of the contract. */
export function createServices({ openRootGroups, termsDocuments }: ServicesOptions): readonly ServiceImplementation[] {
  return [
    pingService,
    groupsService({
      openRootGroups,
      blockedBy: [groups, repos, identities, roles, identityProviders],
      deletedWith: [roleBindings, groupInvites, accountAssociations, termsAcceptances],
      roleBindings,
    }),
    identitiesService(roleBindings),
    rolesService([
      { resource: roleBindings, column: "role_uid", description: "is bound" },
      { resource: identityProviders, column: "default_role", description: "is the default of an identity provider" },
      { resource: externalGroupRoleMappings, column: "role_uid", description: "an external group is mapped to" },
    ]),
    roleBindingsService,
    reposService(repos, tags),
    tagsService(tags),
    identityProvidersService(externalGroupRoleMappings),
    accountAssociationsService,
    groupInvitesService,
    externalGroupRoleMappingsService,
    termsService(termsDocuments),
    notYetServed(ImagesService),
    notYetServed(AdvisoriesService),
    notYetServed(ArtifactsService),
    notYetServed(SecurityAdvisoryService),
    notYetServed(SubscriptionsService),
  ];
}

/** The descriptors of {@link createServices}, for listings. */
export const contractServices: readonly DescService[] = createServices({
  openRootGroups: false,
  termsDocuments: undefined,
}).map(({ service }) => service);
