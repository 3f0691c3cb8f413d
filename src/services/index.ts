/**
 * The table of contents of the product: one line for each service that is mounted. This is the only place where domains meet; what one needs
 * of another it is given here.
 */
import type { DescService } from "@bufbuild/protobuf";
import { SecurityAdvisoryService } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { SubscriptionsService } from "../../gen/platform/events/v2/subscriptions_pb.ts";
import { AccountAssociationsService } from "../../gen/platform/iam/v2/account_associations_pb.ts";
import { ExternalGroupRoleMappingsService } from "../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupInvitesService } from "../../gen/platform/iam/v2/group_invites_pb.ts";
import { IdentityProvidersService } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { TermsService } from "../../gen/platform/iam/v2/terms_pb.ts";
import { ArtifactsService } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import { ImagesService } from "../../gen/platform/registry/v2/images_pb.ts";
import { AdvisoriesService } from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { notYetServed, type ServiceImplementation } from "../resource/index.ts";
import { groups, groupsService } from "./iam/groups.ts";
import { identities, identitiesService } from "./iam/identities.ts";
import { roleBindings, roleBindingsService } from "./iam/role-bindings.ts";
import { roles, rolesService } from "./iam/roles.ts";
import { pingService } from "./ping/ping.ts";
import { defineRepos, reposService } from "./registry/repos.ts";
import { defineTags, tagsService } from "./registry/tags.ts";

export { ensureAdministrator, ensureFirstGroup, identityExists } from "./iam/bootstrap.ts";
export { grantSource, identitySource } from "./iam/grants.ts";
export { storeBuiltInRoles } from "./iam/roles.ts";

const repos = defineRepos(groups);
const tags = defineTags(repos);

/** Settings that services depend on. */
export interface ServicesOptions {
  readonly openRootGroups: boolean;
}

/** Every service of the contract. */
export function createServices({ openRootGroups }: ServicesOptions): readonly ServiceImplementation[] {
  return [
    pingService,
    groupsService({
      openRootGroups,
      blockedBy: [groups, repos, identities, roles],
      deletedWith: [roleBindings],
      roleBindings,
    }),
    identitiesService(roleBindings),
    rolesService(roleBindings),
    roleBindingsService,
    reposService(repos, tags),
    tagsService(tags),
    notYetServed(IdentityProvidersService),
    notYetServed(AccountAssociationsService),
    notYetServed(GroupInvitesService),
    notYetServed(ExternalGroupRoleMappingsService),
    notYetServed(TermsService),
    notYetServed(ImagesService),
    notYetServed(AdvisoriesService),
    notYetServed(ArtifactsService),
    notYetServed(SecurityAdvisoryService),
    notYetServed(SubscriptionsService),
  ];
}

/** The descriptors of {@link createServices}, for listings. */
export const contractServices: readonly DescService[] = createServices({ openRootGroups: false }).map(
  ({ service }) => service,
);
