/**
 * One request for every method of the contract, for the matrix of authorization. A request names things in one group;
 * what it needs is made by the administrator first.
 */
import { expect } from "vitest";
import { Ecosystem } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import type { Json } from "./contract.ts";
import {
  advisory,
  importAdvisories,
  importArtifacts,
  importDocuments,
  importImages,
  importMetadata,
  importPackages,
} from "./feed-fixtures.ts";
import {
  claimMatch,
  digestOf,
  freshName,
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
  /** Set where a list names what it is about, so that to whoever may not see it, it does not exist. */
  readonly namesItems?: true;
  /** Set where the method works on root groups only: the groups of the matrix are then two organisations. */
  readonly isOfOrganisations?: true;
}

/** A role that whoever may create role bindings can pass on. */
async function bindersRole(platform: Platform, group: string): Promise<string> {
  return (await makeRole(platform, group, ["CAP_IAM_ROLE_BINDINGS_CREATE"])).uid;
}

async function providerBody(platform: Platform, group: string): Promise<Json> {
  const oidc = { issuer: "https://issuer.example.com", clientId: freshName(), clientSecret: "secret" };
  return { name: freshName(), defaultRole: await bindersRole(platform, group), oidc };
}

async function makeProvider(platform: Platform, group: string): Promise<string> {
  const identityProvider = await providerBody(platform, group);
  return (await platform.ok("CreateIdentityProvider", { parent: group, identityProvider })).uid;
}

async function mappingBody(platform: Platform, group: string): Promise<Json> {
  return { externalGroupId: freshName(), roleUid: await bindersRole(platform, group) };
}

type AboutUid = (uid: string, platform: Platform, group: string) => Json | Promise<Json>;

function ofProvider(request: AboutUid): MethodFixture {
  return {
    request: async (platform, group) => request(await makeProvider(platform, group), platform, group),
    isOfOrganisations: true,
  };
}

function ofMapping(request: AboutUid): MethodFixture {
  return ofProvider(async (provider, platform, group) => {
    const externalGroupRoleMapping = await mappingBody(platform, group);
    const made = await platform.ok("CreateExternalGroupRoleMapping", { parent: provider, externalGroupRoleMapping });
    return request(made.uid, platform, group);
  });
}

async function inviteBody(platform: Platform, group: string): Promise<Json> {
  return { roleUid: await bindersRole(platform, group), ttl: "3600s" };
}

async function makeInvite(platform: Platform, group: string): Promise<Json> {
  return platform.ok("CreateGroupInvite", { parent: group, groupInvite: await inviteBody(platform, group) });
}

/** In a group of its own: a group has one at most. */
async function makeAssociation(platform: Platform, group: string): Promise<string> {
  const { uid } = await makeGroup(platform, group);
  const accountAssociation = { name: freshName(), amazon: { account: "123456789012" } };
  return (await platform.ok("CreateAccountAssociation", { parent: uid, accountAssociation })).uid;
}

async function makeAdvisory(platform: Platform, group: string): Promise<string> {
  const made = advisory();
  await importAdvisories(platform, group, made);
  const { advisories } = await platform.ok("ListAdvisories", { advisoryIds: [made.advisoryId] });
  return advisories[0].uid;
}

/** An image in a repo of its own. */
async function makeImage(platform: Platform, group: string): Promise<Json> {
  const { uid: repoUid } = await makeRepo(platform, group);
  const digest = digestOf(1);
  await importImages(platform, repoUid, { digest, platforms: [{ architecture: "amd64", digest, size: 1 }] });
  return { repoUid, digest };
}

/** The uid of a repo whose tag `latest` is an image with a list of packages. */
async function makeListedImage(platform: Platform, group: string): Promise<string> {
  const { uid } = await makeRepo(platform, group);
  await makeTag(platform, uid, { name: "latest", digest: digestOf(1) });
  await importPackages(platform, uid, digestOf(1));
  return uid;
}

/** The id of an artifact with one version. */
async function makeArtifact(platform: Platform): Promise<string> {
  const name = freshName();
  await importArtifacts(platform, { ecosystem: Ecosystem.JAVASCRIPT, name, versions: [{ version: "1.0.0" }] });
  return `javascript:${name}`;
}

async function makeSubscription(platform: Platform, group: string): Promise<string> {
  const subscription = { sink: "https://receiver.invalid/events" };
  return (await platform.ok("CreateSubscription", { parent: group, subscription })).uid;
}

/**
 * Expects that every method of `names` has a fixture. Tests that are generated for methods leave out those without one,
 * and say so once.
 */
export function expectFixtures(names: Iterable<string>): void {
  const missing = [...names].filter((name) => methodFixtures[name] === undefined);
  expect(missing, "add a request for each of these to methodFixtures in test/conformance/method-fixtures.ts").toEqual(
    [],
  );
}

/** What a request has at a path of JSON names. Errors: the fixture of the method has nothing there. */
export function partOf(request: Json, method: string, ...path: readonly string[]): Json {
  const part = path.reduce((json, key) => json?.[key], request);
  if (part === undefined)
    throw new Error(`the request for ${method} in test/conformance/method-fixtures.ts lacks ${path.join(".")}`);
  return part;
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

  ListIdentityProviders: { request: () => ({}), isOfOrganisations: true },
  GetIdentityProvider: ofProvider((uid) => ({ uid })),
  CreateIdentityProvider: {
    request: async (platform, group) => ({ parent: group, identityProvider: await providerBody(platform, group) }),
    isOfOrganisations: true,
  },
  UpdateIdentityProvider: ofProvider((uid) => ({ identityProvider: { uid, description: freshName() } })),
  DeleteIdentityProvider: ofProvider((uid) => ({ uid })),

  GetAccountAssociation: { request: async (platform, group) => ({ uid: await makeAssociation(platform, group) }) },
  CreateAccountAssociation: {
    request: async (platform, group) => ({
      parent: (await makeGroup(platform, group)).uid,
      accountAssociation: { name: freshName(), amazon: { account: "123456789012" } },
    }),
  },
  DeleteAccountAssociation: { request: async (platform, group) => ({ uid: await makeAssociation(platform, group) }) },
  ListAccountAssociations: { request: () => ({}) },
  UpdateAccountAssociation: {
    request: async (platform, group) => ({
      accountAssociation: { uid: await makeAssociation(platform, group), description: freshName() },
    }),
  },

  GetGroupInvite: { request: async (platform, group) => ({ uid: (await makeInvite(platform, group)).uid }) },
  CreateGroupInvite: {
    request: async (platform, group) => ({ parent: group, groupInvite: await inviteBody(platform, group) }),
  },
  UpdateGroupInvite: {
    request: async (platform, group) => ({
      groupInvite: { uid: (await makeInvite(platform, group)).uid, singleUse: true },
    }),
  },
  DeleteGroupInvite: { request: async (platform, group) => ({ uid: (await makeInvite(platform, group)).uid }) },
  ListGroupInvites: { request: () => ({}) },
  AcceptGroupInvite: { request: async (platform, group) => ({ code: (await makeInvite(platform, group)).code }) },

  GetExternalGroupRoleMapping: ofMapping((uid) => ({ uid })),
  CreateExternalGroupRoleMapping: ofProvider(async (uid, platform, group) => ({
    parent: uid,
    externalGroupRoleMapping: await mappingBody(platform, group),
  })),
  UpdateExternalGroupRoleMapping: ofMapping(async (uid, platform, group) => ({
    externalGroupRoleMapping: { uid, roleUid: await bindersRole(platform, group) },
  })),
  DeleteExternalGroupRoleMapping: ofMapping((uid) => ({ uid })),
  BatchDeleteExternalGroupRoleMappings: ofMapping((uid) => ({
    parent: uid.slice(0, uid.lastIndexOf("/")),
    names: [uid],
  })),
  ListExternalGroupRoleMappings: { request: () => ({}), isOfOrganisations: true },

  AcceptTerms: { request: (_platform, group) => ({ group, documentIds: ["registry-tos.v1"] }) },
  ListTermsAcceptances: { request: (_platform, group) => ({ group }) },

  GetArchitectures: { request: async (platform, group) => makeImage(platform, group), scope: ["repoUid"] },
  GetSize: { request: async (platform, group) => makeImage(platform, group), scope: ["repoUid"] },

  GetAdvisory: { request: async (platform, group) => ({ uid: await makeAdvisory(platform, group) }) },
  ListAdvisories: {
    request: async (platform, group) => {
      await makeAdvisory(platform, group);
      return {};
    },
  },

  GetArtifact: { request: async (platform) => ({ uid: await makeArtifact(platform) }) },
  ListArtifacts: { request: () => ({ ecosystems: ["ECOSYSTEM_JAVA"] }) },
  ListArtifactVersions: { request: async (platform) => ({ artifactId: await makeArtifact(platform) }) },
  GetArtifactCount: { request: () => ({ ecosystems: ["ECOSYSTEM_JAVA"] }) },

  GetDocument: {
    request: async (platform) => {
      const id = freshName();
      await importDocuments(platform, { id });
      return { uid: id };
    },
  },
  ListDocuments: { request: () => ({}) },
  GetVulnerabilityMetadata: {
    request: async (platform) => {
      const id = freshName();
      await importMetadata(platform, { id });
      return { uid: id };
    },
  },
  ListVulnerabilityMetadata: { request: () => ({}) },
  ListResolvedVulnsReports: {
    namesItems: true,
    request: async (platform, group) => ({
      images: [`${await makeListedImage(platform, group)}:latest`],
      startTime: "2026-01-01T00:00:00.000Z",
      endTime: "2026-02-01T00:00:00.000Z",
    }),
  },

  GetSubscription: { request: async (platform, group) => ({ uid: await makeSubscription(platform, group) }) },
  CreateSubscription: {
    request: (_platform, group) => ({ parent: group, subscription: { sink: "https://receiver.invalid/events" } }),
  },
  ListSubscriptions: { request: () => ({}) },
  DeleteSubscription: { request: async (platform, group) => ({ uid: await makeSubscription(platform, group) }) },
};
