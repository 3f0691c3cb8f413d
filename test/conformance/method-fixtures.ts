/**
 * One request for every method of the contract, for the matrix of authorization. A request names things in one group; what it needs is made by
 * the administrator first.
 */
import type { Json } from "./contract.ts";
import {
  claimMatch,
  digestOf,
  freshName,
  freshUid,
  makeGroup,
  makeIdentity,
  makeMember,
  makeRepo,
  makeRole,
  makeTag,
} from "./fixtures.ts";
import type { Platform } from "./platform.ts";

/** How the matrix calls a method. */
export interface MethodFixture {
  /** A request that succeeds in `group` for whoever holds what the method needs there. */
  request(platform: Platform, group: string): Json | Promise<Json>;
  /** Set where the contract says `unscoped` but the method decides by a uid of the request: the path to it. */
  readonly scope?: readonly string[];
  /** Set while the server does not serve the method. */
  readonly isNotServed?: true;
}

/** A thing that no served method can make yet. */
const nowhere = (group: string) => freshUid(group);

function notServed(request: (group: string) => Json): MethodFixture {
  return { isNotServed: true, request: (_platform, group) => request(group) };
}

/** By method name. */
export const methodFixtures: Readonly<Record<string, MethodFixture>> = {
  Ping: { request: () => ({}) },

  GetGroup: { request: (_platform, group) => ({ uid: group }) },
  DeleteGroup: { request: async (platform, group) => ({ uid: (await makeGroup(platform, group)).uid }) },
  ListGroups: { request: () => ({}) },
  CreateGroup: { request: (_platform, group) => ({ parent: group, group: { name: freshName() } }), scope: ["parent"] },
  UpdateGroup: { request: (_platform, group) => ({ group: { uid: group, description: freshName() } }) },

  CreateIdentity: {
    request: (_platform, group) => ({ parent: group, identity: { name: freshName(), claimMatch: claimMatch() } }),
  },
  GetIdentity: { request: async (platform, group) => ({ uid: (await makeIdentity(platform, group)).uid }) },
  DeleteIdentity: { request: async (platform, group) => ({ uid: (await makeIdentity(platform, group)).uid }) },
  UpdateIdentity: {
    request: async (platform, group) => {
      const { uid } = await makeIdentity(platform, group);
      return { identity: { uid, description: freshName() } };
    },
  },
  ListIdentities: { request: () => ({}) },
  LookupIdentity: { request: () => ({ issuer: "https://issuer.example.com", subject: "me" }) },

  GetRole: {
    request: async (platform, group) => ({ uid: (await makeRole(platform, group, ["CAP_REPO_LIST"])).uid }),
    scope: ["uid"],
  },
  ListRoles: { request: (_platform, group) => ({ uidp: { descendantsOf: group } }) },
  CreateRole: {
    request: (_platform, group) => ({
      parent: group,
      role: { name: freshName(), capabilities: ["CAP_IAM_ROLES_CREATE"] },
    }),
  },
  UpdateRole: {
    request: async (platform, group) => {
      const { uid } = await makeRole(platform, group, ["CAP_REPO_LIST"]);
      return { role: { uid, description: freshName() } };
    },
  },
  DeleteRole: {
    request: async (platform, group) => ({ uid: (await makeRole(platform, group, ["CAP_REPO_LIST"])).uid }),
  },

  GetRoleBinding: {
    request: async (platform, group) => ({ uid: (await makeMember(platform, group, ["CAP_REPO_LIST"])).bindingUid }),
  },
  CreateRoleBinding: {
    request: async (platform, group) => ({
      parent: group,
      roleBinding: {
        identityUid: (await makeIdentity(platform, group)).uid,
        roleUid: (await makeRole(platform, group, ["CAP_IAM_ROLE_BINDINGS_CREATE"])).uid,
      },
    }),
  },
  DeleteRoleBinding: {
    request: async (platform, group) => ({ uid: (await makeMember(platform, group, ["CAP_REPO_LIST"])).bindingUid }),
  },
  ListRoleBindings: { request: () => ({}) },
  BatchCreateRoleBindings: {
    request: async (platform, group) => ({
      parent: group,
      roleUid: (await makeRole(platform, group, ["CAP_IAM_ROLE_BINDINGS_CREATE"])).uid,
      requests: [{ roleBinding: { identityUid: (await makeIdentity(platform, group)).uid } }],
    }),
  },
  UpdateRoleBinding: {
    request: async (platform, group) => ({
      roleBinding: {
        uid: (await makeMember(platform, group, ["CAP_REPO_LIST"])).bindingUid,
        roleUid: (await makeRole(platform, group, ["CAP_IAM_ROLE_BINDINGS_UPDATE"])).uid,
      },
    }),
  },

  GetRepo: { request: async (platform, group) => ({ uid: (await makeRepo(platform, group)).uid }) },
  CreateRepo: { request: (_platform, group) => ({ parent: group, repo: { name: freshName() } }) },
  UpdateRepo: {
    request: async (platform, group) => ({
      repo: { uid: (await makeRepo(platform, group)).uid, description: freshName() },
    }),
  },
  DeleteRepo: { request: async (platform, group) => ({ uid: (await makeRepo(platform, group)).uid }) },
  ListRepos: { request: () => ({}) },
  GetRepoReadme: { request: async (platform, group) => ({ uid: (await makeRepo(platform, group)).uid }) },
  UpdateRepoReadme: {
    request: async (platform, group) => ({
      repoReadme: { uid: (await makeRepo(platform, group)).uid, content: "# Read me" },
    }),
  },

  GetTag: {
    request: async (platform, group) => ({
      uid: (await makeTag(platform, (await makeRepo(platform, group)).uid)).uid,
    }),
  },
  ListTags: { request: () => ({}) },
  CreateTag: {
    request: async (platform, group) => ({
      parent: (await makeRepo(platform, group)).uid,
      tag: { name: freshName(), digest: digestOf(1) },
    }),
  },
  DeleteTag: {
    request: async (platform, group) => ({
      uid: (await makeTag(platform, (await makeRepo(platform, group)).uid)).uid,
    }),
  },

  ListIdentityProviders: notServed(() => ({})),
  GetIdentityProvider: notServed((group) => ({ uid: nowhere(group) })),
  CreateIdentityProvider: notServed((group) => ({ parent: group, identityProvider: {} })),
  UpdateIdentityProvider: notServed((group) => ({ identityProvider: { uid: nowhere(group) } })),
  DeleteIdentityProvider: notServed((group) => ({ uid: nowhere(group) })),

  GetAccountAssociation: notServed((group) => ({ uid: group })),
  CreateAccountAssociation: notServed((group) => ({ parent: group, accountAssociation: {} })),
  DeleteAccountAssociation: notServed((group) => ({ uid: group })),
  ListAccountAssociations: notServed(() => ({})),
  UpdateAccountAssociation: notServed((group) => ({ accountAssociation: { uid: group } })),

  GetGroupInvite: notServed((group) => ({ uid: nowhere(group) })),
  CreateGroupInvite: notServed((group) => ({ parent: group, groupInvite: {} })),
  UpdateGroupInvite: notServed((group) => ({ groupInvite: { uid: nowhere(group) } })),
  DeleteGroupInvite: notServed((group) => ({ uid: nowhere(group) })),
  ListGroupInvites: notServed(() => ({})),
  AcceptGroupInvite: notServed(() => ({ code: "code" })),

  GetExternalGroupRoleMapping: notServed((group) => ({ uid: nowhere(group) })),
  CreateExternalGroupRoleMapping: notServed((group) => ({ parent: nowhere(group), externalGroupRoleMapping: {} })),
  UpdateExternalGroupRoleMapping: notServed((group) => ({ externalGroupRoleMapping: { uid: nowhere(group) } })),
  DeleteExternalGroupRoleMapping: notServed((group) => ({ uid: nowhere(group) })),
  BatchDeleteExternalGroupRoleMappings: notServed((group) => {
    const provider = nowhere(group);
    return { parent: provider, names: [freshUid(provider)] };
  }),
  ListExternalGroupRoleMappings: notServed(() => ({})),

  AcceptTerms: notServed((group) => ({ group, documentIds: ["registry-tos.v1"] })),
  ListTermsAcceptances: notServed((group) => ({ group })),

  GetArchitectures: notServed((group) => ({ repoUid: nowhere(group), digest: digestOf(1) })),
  GetSize: notServed((group) => ({ repoUid: nowhere(group), digest: digestOf(1) })),

  GetAdvisory: notServed((group) => ({ uid: nowhere(group) })),
  ListAdvisories: notServed(() => ({})),

  GetArtifact: notServed(() => ({ uid: freshUid() })),
  ListArtifacts: notServed(() => ({ ecosystems: ["ECOSYSTEM_JAVA"] })),
  ListArtifactVersions: notServed(() => ({ artifactId: freshUid() })),
  GetArtifactCount: notServed(() => ({ ecosystems: ["ECOSYSTEM_JAVA"] })),

  GetDocument: notServed(() => ({ uid: freshUid() })),
  ListDocuments: notServed(() => ({})),
  GetVulnerabilityMetadata: notServed(() => ({ uid: freshUid() })),
  ListVulnerabilityMetadata: notServed(() => ({})),
  ListResolvedVulnsReports: notServed((group) => ({
    images: [`${nowhere(group)}:latest`],
    startTime: "2026-01-01T00:00:00.000Z",
    endTime: "2026-02-01T00:00:00.000Z",
  })),

  GetSubscription: notServed((group) => ({ uid: nowhere(group) })),
  CreateSubscription: notServed((group) => ({ parent: group, subscription: {} })),
  ListSubscriptions: notServed(() => ({})),
  DeleteSubscription: notServed((group) => ({ uid: nowhere(group) })),
};
