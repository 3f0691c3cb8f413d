/**
 * One request for every method of the contract, for the matrix of authorization. A request names things in one group;
 * what it needs is made by the administrator first.
 */
import { expect } from "vitest";
import { Ecosystem } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import { grypeReport } from "../feeds/formats/vuln-reports.ts";
import type { Json } from "./contract.ts";
import {
  advisory,
  importAdvisories,
  importArtifacts,
  importDocuments,
  importImages,
  importMetadata,
  importOsv,
  importPackages,
  importVulnReport,
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
  readonly namesItems?: boolean;
  /** The code of the error that the method always answers whoever may call it with. */
  readonly fails?: "FAILED_PRECONDITION";
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

/** An image in a repo of its own, with a report of a scanner. */
async function makeScannedImage(platform: Platform, group: string): Promise<Json> {
  const image = await makeImage(platform, group);
  await importVulnReport(platform, image.repoUid, image.digest, grypeReport());
  return image;
}

/** The uid of a repo whose tag `latest` is an image with a list of packages. */
async function makeListedImage(platform: Platform, group: string): Promise<string> {
  const { uid } = await makeRepo(platform, group);
  await makeTag(platform, uid, { name: "latest", digest: digestOf(1) });
  await importPackages(platform, uid, digestOf(1));
  return uid;
}

async function makeAnalysis(platform: Platform, group: string): Promise<string> {
  return (await platform.ok("CreateAnalysis", { parent: group, analysis: notAffected() })).uid;
}

function notAffected() {
  return { vulnerabilityId: `CVE-2026-${freshName().slice(1)}`, state: "STATE_NOT_AFFECTED" };
}

async function makeVexDocument(platform: Platform, group: string): Promise<string> {
  const statements = [
    { vulnerability: { name: "CVE-2026-1" }, products: [{ "@id": "pkg:apk/wolfi/a@1.0-r0" }], status: "affected" },
  ];
  const id = `https://example.com/vex/${freshName()}`;
  const head = { "@context": "https://openvex.dev/ns/v0.2.0", "@id": id, author: "Example", version: 1 };
  const document = { ...head, timestamp: "2026-11-03T10:00:00Z", statements };
  const answer = await platform.fetch(`/findings/v1/groups/${group}/vex`, {
    method: "POST",
    body: JSON.stringify(document),
  });
  return ((await answer.json()) as Json).uid;
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

async function makePausedSubscription(platform: Platform, group: string): Promise<string> {
  const uid = await makeSubscription(platform, group);
  await platform.ok("PauseSubscription", { uid });
  return uid;
}

/** A delivery, by its subscription and its event. */
async function makeDelivery(platform: Platform, group: string): Promise<Json> {
  const subscription = await makeSubscription(platform, group);
  const { eventId } = await platform.ok("SendTestEvent", { subscription });
  return { subscription, eventId };
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

/** The methods of v2, by name. */
const fixtures: Readonly<Record<string, MethodFixture>> = {
  Ping: { request: () => ({}) },

  Explain: {
    request: ({ administrator }, group) => ({ scope: group, identity: administrator, capability: "repo.list" }),
  },
  ListAccess: { request: (_platform, group) => ({ scope: group }) },
  ListAuditRecords: { request: (_platform, group) => ({ scope: group }) },
  SearchNames: { request: () => ({ prefix: "n" }) },

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

  ListSbomDocuments: { request: () => ({}) },
  GetAnalysis: { request: async (platform, group) => ({ uid: await makeAnalysis(platform, group) }) },
  ListAnalyses: { request: () => ({}) },
  CreateAnalysis: { request: (_platform, group) => ({ parent: group, analysis: notAffected() }) },
  UpdateAnalysis: {
    request: async (platform, group) => ({ analysis: { uid: await makeAnalysis(platform, group), note: freshName() } }),
  },
  DeleteAnalysis: { request: async (platform, group) => ({ uid: await makeAnalysis(platform, group) }) },

  ListVexDocuments: { request: () => ({}) },
  DeleteVexDocument: { request: async (platform, group) => ({ uid: await makeVexDocument(platform, group) }) },
  QueryPackages: { request: () => ({ queries: [{ purl: "pkg:npm/lodash@4.17.20" }] }) },
  ListFindings: { request: () => ({}) },
  SummarizeFindings: { request: () => ({ by: "day,level" }) },
  GetImage: {
    request: async (platform, group) => {
      const { repoUid, digest } = await makeImage(platform, group);
      return { repo: repoUid, digest };
    },
    scope: ["repo"],
  },
  ListImages: { request: () => ({}) },
  CompareImages: {
    namesItems: true,
    request: async (platform, group) => {
      const image = `${await makeListedImage(platform, group)}:latest`;
      return { base: image, target: image };
    },
  },
  ListComponents: { request: () => ({}) },
  ListTagHistory: {
    request: async (platform, group) => ({
      uid: (await makeTag(platform, (await makeRepo(platform, group)).uid)).uid,
    }),
  },

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
  GetVulnerability: {
    request: async (platform) => {
      const { id } = await importOsv(platform, { id: freshName("GHSA"), modified: "2026-01-02T03:04:05Z" });
      return { uid: id };
    },
  },
  ListVulnerabilities: { request: () => ({}) },
  ListResolvedVulnsReports: {
    namesItems: true,
    request: async (platform, group) => ({
      images: [`${await makeListedImage(platform, group)}:latest`],
      startTime: "2026-01-01T00:00:00.000Z",
      endTime: "2026-02-01T00:00:00.000Z",
    }),
  },

  GetDelivery: { request: makeDelivery },
  ListDeliveries: { request: async (platform, group) => ({ subscription: await makeSubscription(platform, group) }) },
  ReplayDelivery: { request: makeDelivery },
  ReplayFailedDeliveries: {
    request: async (platform, group) => ({ subscription: await makeSubscription(platform, group) }),
  },
  SendTestEvent: { request: async (platform, group) => ({ subscription: await makeSubscription(platform, group) }) },

  ListEventTypes: { request: () => ({}) },
  GetDeliverySettings: { request: async (platform, group) => ({ uid: await makeSubscription(platform, group) }) },
  UpdateDeliverySettings: {
    request: async (platform, group) => ({
      deliverySettings: { uid: await makeSubscription(platform, group), eventTypes: ["dev.platform.api.iam.*"] },
    }),
  },
  PauseSubscription: { request: async (platform, group) => ({ uid: await makeSubscription(platform, group) }) },
  ResumeSubscription: { request: async (platform, group) => ({ uid: await makePausedSubscription(platform, group) }) },
  RotateSigningSecret: { request: async (platform, group) => ({ uid: await makeSubscription(platform, group) }) },

  GetSubscription: { request: async (platform, group) => ({ uid: await makeSubscription(platform, group) }) },
  CreateSubscription: {
    request: (_platform, group) => ({ parent: group, subscription: { sink: "https://receiver.invalid/events" } }),
  },
  ListSubscriptions: { request: () => ({}) },
  DeleteSubscription: { request: async (platform, group) => ({ uid: await makeSubscription(platform, group) }) },
};

/** A request of v1 about something that a request of v2 is about too: its uid by the name that v1 has for it. */
function like(name: string, toOlder: (request: Json) => Json): MethodFixture {
  const { request, ...more } = fixtures[name]!;
  return { ...more, request: async (platform, group) => toOlder(await request(platform, group)) };
}

const byId = ({ uid }: Json) => ({ id: uid });

/** The methods of v1, by name. */
const fixturesOfV1: Readonly<Record<string, MethodFixture>> = {
  "v1.Groups.Create": like("CreateGroup", (request) => request),
  "v1.Groups.Update": like("UpdateGroup", ({ group: { uid } }) => ({ id: uid, name: freshName() })),
  "v1.Groups.List": like("ListGroups", () => ({})),
  "v1.Groups.Delete": like("DeleteGroup", byId),
  "v1.Groups.CheckEligibility": { request: () => ({}) },
  "v1.Groups.LookupGroup": { request: () => ({}), fails: "FAILED_PRECONDITION" },
  "v1.Groups.RequestGroupAccess": { request: (_platform, group) => ({ groupId: group }), fails: "FAILED_PRECONDITION" },

  "v1.Identities.Create": like("CreateIdentity", ({ parent, identity }) => ({ parentId: parent, identity })),
  "v1.Identities.Update": like("UpdateIdentity", ({ identity: { uid } }) => ({
    id: uid,
    name: freshName(),
    claimMatch: claimMatch(),
  })),
  "v1.Identities.List": like("ListIdentities", () => ({})),
  "v1.Identities.Lookup": like("LookupIdentity", (request) => request),
  "v1.Identities.Delete": like("DeleteIdentity", byId),

  "v1.Roles.Create": like("CreateRole", ({ parent, role: { name } }) => ({
    parentId: parent,
    role: { name, capabilities: ["roles.create"] },
  })),
  "v1.Roles.Update": like("UpdateRole", ({ role: { uid } }) => ({
    id: uid,
    name: freshName(),
    capabilities: ["repo.list"],
  })),
  "v1.Roles.List": like("ListRoles", ({ uidp }) => ({ uidp })),
  "v1.Roles.Delete": like("DeleteRole", byId),

  "v1.RoleBindings.Create": like("CreateRoleBinding", ({ parent, roleBinding: { identityUid, roleUid } }) => ({
    parent,
    roleBinding: { identity: identityUid, role: roleUid },
  })),
  "v1.RoleBindings.CreateBatch": like("BatchCreateRoleBindings", ({ parent, roleUid, requests }) => ({
    parent,
    roleBindings: requests.map(({ roleBinding: { identityUid } }: Json) => ({ identity: identityUid, role: roleUid })),
  })),
  "v1.RoleBindings.Update": {
    request: async (platform, group) => {
      const { bindingUid, uid } = await makeMember(platform, group, ["CAP_REPO_LIST"]);
      const role = (await makeRole(platform, group, ["CAP_IAM_ROLE_BINDINGS_UPDATE"])).uid;
      return { id: bindingUid, identity: uid, role };
    },
  },
  "v1.RoleBindings.List": like("ListRoleBindings", () => ({})),
  "v1.RoleBindings.Delete": like("DeleteRoleBinding", byId),

  "v1.IdentityProviders.Create": like("CreateIdentityProvider", ({ parent, identityProvider }) => ({
    parentId: parent,
    identityProvider,
  })),
  "v1.IdentityProviders.Update": ofProvider(async (id, platform, group) => ({
    id,
    ...(await providerBody(platform, group)),
  })),
  "v1.IdentityProviders.List": like("ListIdentityProviders", () => ({})),
  "v1.IdentityProviders.Delete": like("DeleteIdentityProvider", byId),

  "v1.IdentityProviders.GenerateScimToken": ofProvider((uid) => ({ identityProviderId: uid })),
  "v1.IdentityProviders.RegenerateScimToken": ofProvider(async (uid, platform) => {
    const request = { identityProviderId: uid };
    const { etag } = await platform.ok("v1.IdentityProviders.GenerateScimToken", request);
    return { ...request, etag };
  }),
  "v1.IdentityProviders.RevokeScimToken": ofProvider((uid) => ({ identityProviderId: uid })),
  "v1.IdentityProviders.SetScimEnabled": ofProvider((uid) => ({ identityProviderId: uid, enabled: true, etag: '"0"' })),

  "v1.GroupAccountAssociations.Create": like("CreateAccountAssociation", ({ parent, accountAssociation }) => ({
    group: parent,
    ...accountAssociation,
  })),
  "v1.GroupAccountAssociations.Update": like("UpdateAccountAssociation", ({ accountAssociation: { uid } }) => ({
    group: uid,
    name: freshName(),
    amazon: { account: "210987654321" },
  })),
  "v1.GroupAccountAssociations.List": like("ListAccountAssociations", () => ({})),
  "v1.GroupAccountAssociations.Delete": like("DeleteAccountAssociation", ({ uid }) => ({ group: uid })),
  "v1.GroupAccountAssociations.Check": like("GetAccountAssociation", ({ uid }) => ({
    group: uid,
    accountType: "AZURE",
  })),

  "v1.GroupInvites.Create": like("CreateGroupInvite", ({ parent, groupInvite: { roleUid, ttl } }) => ({
    group: parent,
    role: roleUid,
    ttl,
  })),
  "v1.GroupInvites.List": like("ListGroupInvites", () => ({})),
  "v1.GroupInvites.Delete": like("DeleteGroupInvite", byId),

  "v1.ExternalGroupRoleMappings.Create": like(
    "CreateExternalGroupRoleMapping",
    ({ parent, externalGroupRoleMapping: { externalGroupId, roleUid } }) => ({
      parentId: parent,
      mapping: { externalGroupId, roleUidp: roleUid },
    }),
  ),
  "v1.ExternalGroupRoleMappings.Get": like("GetExternalGroupRoleMapping", (request) => request),
  "v1.ExternalGroupRoleMappings.List": like("ListExternalGroupRoleMappings", () => ({})),
  "v1.ExternalGroupRoleMappings.Delete": like("DeleteExternalGroupRoleMapping", byId),
  "v1.ExternalGroupRoleMappings.BatchDelete": like("BatchDeleteExternalGroupRoleMappings", ({ parent, names }) => ({
    parentId: parent,
    ids: names,
  })),

  "v1.Terms.AcceptTerms": like("AcceptTerms", (request) => request),
  "v1.Terms.ListAccepted": like("ListTermsAcceptances", (request) => request),

  "v1.Registry.CreateRepo": like("CreateRepo", ({ parent, repo }) => ({ parentId: parent, repo })),
  "v1.Registry.UpdateRepo": like("UpdateRepo", ({ repo: { uid } }) => ({ id: uid, name: freshName() })),
  "v1.Registry.ListRepos": like("ListRepos", () => ({})),
  "v1.Registry.DeleteRepo": like("DeleteRepo", byId),
  "v1.Registry.CreateTag": like("CreateTag", ({ parent, tag }) => ({ repoId: parent, tag })),
  "v1.Registry.UpdateTag": {
    request: async (platform, group) => {
      const { uid, name } = await makeTag(platform, (await makeRepo(platform, group)).uid);
      return { id: uid, name, digest: digestOf(2) };
    },
  },
  "v1.Registry.ListTags": like("ListTags", () => ({})),
  "v1.Registry.DeleteTag": like("DeleteTag", byId),
  "v1.Registry.GetArchs": {
    ...like("GetArchitectures", ({ repoUid, digest }) => ({ repoId: repoUid, digest })),
    scope: ["repoId"],
  },
  "v1.Registry.GetSize": {
    ...like("GetSize", ({ repoUid, digest }) => ({ repoId: repoUid, digest })),
    scope: ["repoId"],
  },

  "v1.Registry.ListEolTags": like("ListTags", () => ({})),
  "v1.Registry.GetVulnReport": {
    request: async (platform, group) => {
      const { repoUid, digest } = await makeScannedImage(platform, group);
      return { repoId: repoUid, digest };
    },
    scope: ["repoId"],
  },
  "v1.Vulnerabilities.ListVulnReports": {
    request: async (platform, group) => ({ repoId: (await makeScannedImage(platform, group)).repoUid }),
  },
  "v1.Vulnerabilities.GetRawVulnReport": {
    request: async (platform, group) => ({ digest: (await makeScannedImage(platform, group)).digest }),
  },
  "v1.Vulnerabilities.ListVulnCountReports": { request: () => ({ repo: "app" }) },
  "v1.Vulnerabilities.ListCumulativeVulnCountReports": { request: () => ({ repo: "app" }) },

  "v1.Advisories.Create": { request: (_platform, group) => ({ parentId: group, advisory: advisoryOfV1() }) },
  "v1.Advisories.List": like("ListAdvisories", () => ({})),
  "v1.Advisories.Update": ofOwnAdvisory(({ id, advisoryId, artifactName }) => ({
    ...advisoryOfV1(),
    id,
    advisoryId,
    artifactName,
  })),
  "v1.Advisories.Delete": ofOwnAdvisory(({ id }) => ({ id })),
  "v1.Advisories.CreateAdvisoryEvent": ofOwnAdvisory(({ id }) => ({ parentId: id, advisoryEvent: eventOfV1() })),
  "v1.Advisories.ListAdvisoryEvents": ofOwnAdvisory(({ id }) => ({ parentId: id })),
  "v1.Advisories.UpdateAdvisoryEvent": ofOwnAdvisory(({ events: [event] }) => ({ ...eventOfV1(), id: event.id })),

  "v1.Artifacts.List": like("ListArtifacts", () => ({ ecosystems: ["JAVA"] })),
  "v1.Artifacts.ListVersions": like("ListArtifactVersions", ({ artifactId }) => ({ id: artifactId })),
  "v1.Artifacts.GetArtifactCount": like("GetArtifactCount", () => ({ ecosystems: ["JAVA"] })),

  "v1.SecurityAdvisory.ListDocuments": like("ListDocuments", () => ({})),
  "v1.SecurityAdvisory.ListVulnerabilityMetadata": like("ListVulnerabilityMetadata", () => ({})),
  "v1.SecurityAdvisory.ListResolvedVulnsReports": {
    ...like("ListResolvedVulnsReports", ({ images, startTime, endTime }) => ({ images, from: startTime, to: endTime })),
    namesItems: false,
  },
};

function eventOfV1(): Json {
  return { author: "me@example.com", status: "APPROVED", fixed: { fixedVersion: "1.2.3-r0" } };
}

function advisoryOfV1(): Json {
  return {
    advisoryId: freshName("CGA"),
    artifactType: "apk",
    artifactName: freshName("package"),
    artifactArchitecture: "x86_64",
    componentName: "openssl",
    componentLocation: "/usr/lib/libssl.so",
    componentType: "apk",
    author: "me@example.com",
    aliases: ["CVE-2026-1000"],
    events: [eventOfV1()],
  };
}

/** A method about an advisory that was written through the API. */
function ofOwnAdvisory(toRequest: (advisory: Json) => Json): MethodFixture {
  return {
    request: async (platform, group) =>
      toRequest(await platform.ok("v1.Advisories.Create", { parentId: group, advisory: advisoryOfV1() })),
  };
}

/** A batch of one that a Get is about. */
function batchOf(name: string): MethodFixture {
  const { request, isOfOrganisations } = fixtures[name]!;
  const isPublic = ["GetDocument", "GetVulnerability", "GetVulnerabilityMetadata"].includes(name);
  return {
    request: async (platform, group) => ({ uids: [(await request(platform, group)).uid] }),
    ...(!isPublic && { scope: ["uids", "0"] }),
    ...(isOfOrganisations && { isOfOrganisations }),
  };
}

const batches: Readonly<Record<string, MethodFixture>> = {
  BatchGetGroups: batchOf("GetGroup"),
  BatchGetIdentities: batchOf("GetIdentity"),
  BatchGetRoles: batchOf("GetRole"),
  BatchGetRoleBindings: batchOf("GetRoleBinding"),
  BatchGetIdentityProviders: batchOf("GetIdentityProvider"),
  BatchGetAccountAssociations: batchOf("GetAccountAssociation"),
  BatchGetGroupInvites: batchOf("GetGroupInvite"),
  BatchGetExternalGroupRoleMappings: batchOf("GetExternalGroupRoleMapping"),
  BatchGetRepos: batchOf("GetRepo"),
  BatchGetTags: batchOf("GetTag"),
  BatchGetSubscriptions: batchOf("GetSubscription"),
  BatchGetAnalyses: batchOf("GetAnalysis"),
  BatchGetAdvisories: batchOf("GetAdvisory"),
  BatchGetDocuments: batchOf("GetDocument"),
  BatchGetVulnerabilityMetadata: batchOf("GetVulnerabilityMetadata"),
  BatchGetVulnerabilities: batchOf("GetVulnerability"),
};

/** By method name. */
export const methodFixtures: Readonly<Record<string, MethodFixture>> = { ...fixtures, ...batches, ...fixturesOfV1 };
