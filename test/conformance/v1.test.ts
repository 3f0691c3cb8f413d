/** v1 beside v2: the same resources, read and written by both. */
import { getOption } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { type Json, methodNamed, methodsOfV1 } from "./contract.ts";
import { digestOf, freshName, freshUid, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { onEveryServer } from "./platform.ts";

/** A resource that both versions write. */
interface Both {
  /** The service of v1, and its methods. */
  readonly v1: {
    readonly service: string;
    readonly create: string;
    readonly list: string;
    readonly update?: string;
    readonly delete: string;
  };
  readonly v2: { readonly kind: string; readonly plural: string; readonly body: string };
  /** The name of the uid in v1. */
  readonly id?: string;
  /** A field of both, and a value for an update. Absent: v2 does not update it. */
  readonly change?: { readonly v1: string; readonly v2: string; readonly value: Json };
  /** Fields that mean the same, v1 to v2. */
  readonly same: Readonly<Record<string, string>>;
}

const all = { create: "Create", list: "List", update: "Update", delete: "Delete" } as const;
const description = { v1: "description", v2: "description", value: "changed by v2" };
const named = { name: "name", description: "description" };

const resources: readonly Both[] = [
  {
    v1: { service: "Groups", ...all },
    v2: { kind: "Group", plural: "groups", body: "group" },
    change: description,
    same: { ...named, resourceLimits: "resourceLimits", verified: "verified", kind: "kind", status: "status" },
  },
  {
    v1: { service: "Identities", ...all },
    v2: { kind: "Identity", plural: "identities", body: "identity" },
    change: description,
    same: { ...named, claimMatch: "claimMatch", createdAt: "createTime", updatedAt: "updateTime" },
  },
  {
    v1: { service: "Roles", ...all },
    v2: { kind: "Role", plural: "roles", body: "role" },
    change: description,
    same: named,
  },
  {
    v1: { service: "RoleBindings", ...all },
    v2: { kind: "RoleBinding", plural: "roleBindings", body: "roleBinding" },
    same: { createdAt: "createTime" },
  },
  {
    v1: { service: "IdentityProviders", ...all },
    v2: { kind: "IdentityProvider", plural: "identityProviders", body: "identityProvider" },
    change: description,
    same: { ...named, defaultRole: "defaultRole", oidc: "oidc" },
  },
  {
    v1: { service: "GroupAccountAssociations", ...all },
    v2: { kind: "AccountAssociation", plural: "accountAssociations", body: "accountAssociation" },
    id: "group",
    change: description,
    same: { ...named, amazon: "amazon" },
  },
  {
    v1: { service: "GroupInvites", create: "Create", list: "List", delete: "Delete" },
    v2: { kind: "GroupInvite", plural: "groupInvites", body: "groupInvite" },
    change: { v1: "singleUse", v2: "singleUse", value: true },
    same: { expiration: "expirationTime", keyId: "keyId", createdAt: "createTime", singleUse: "singleUse" },
  },
  {
    v1: { service: "ExternalGroupRoleMappings", create: "Create", list: "List", delete: "Delete" },
    v2: { kind: "ExternalGroupRoleMapping", plural: "externalGroupRoleMappings", body: "externalGroupRoleMapping" },
    same: { externalGroupId: "externalGroupId", roleUidp: "roleUid", createdAt: "createTime" },
  },
  {
    v1: { service: "Registry", create: "CreateRepo", list: "ListRepos", update: "UpdateRepo", delete: "DeleteRepo" },
    v2: { kind: "Repo", plural: "repos", body: "repo" },
    change: description,
    same: { ...named, bundles: "bundles", aliases: "aliases", activeTags: "activeTags", createTime: "createTime" },
  },
  {
    v1: { service: "Registry", create: "CreateTag", list: "ListTags", update: "UpdateTag", delete: "DeleteTag" },
    v2: { kind: "Tag", plural: "tags", body: "tag" },
    same: { name: "name", digest: "digest", deprecated: "deprecated", lastUpdated: "updateTime" },
  },
];

onEveryServer("v1 beside v2", (platform) => {
  let group: string;
  beforeAll(async () => {
    group = (await makeGroup(platform(), "")).uid;
  });

  const v1 = (service: string, method: string, request: Json) => platform().ok(`v1.${service}.${method}`, request);

  describe.each(resources)("$v2.kind", ({ v1: older, v2: newer, id = "id", change, same }) => {
    const expectSame = (item: Json, resource: Json) => {
      expect(item[id]).toBe(resource.uid);
      for (const [ofV1, ofV2] of Object.entries(same)) expect([ofV1, item[ofV1]]).toEqual([ofV1, resource[ofV2]]);
    };

    async function createByV1(): Promise<string> {
      const request = await methodFixtures[`v1.${older.service}.${older.create}`]!.request(platform(), group);
      return (await v1(older.service, older.create, request))[id];
    }

    /** The one that v1 lists by this id. */
    async function listed(uid: string): Promise<Json> {
      const answer =
        "id" in methodNamed(`v1.${older.service}.${older.list}`).input.field
          ? await platform().read(`v1.${older.service}.${older.list}`, { id: uid })
          : id === "group"
            ? await platform().read(`v1.${older.service}.${older.list}`, { group: uid })
            : await platform().read(`v1.${older.service}.${older.list}`, { uidp: { ids: [uid] } });
      expect(Object.keys(answer)).toEqual(["items"]);
      expect(answer.items).toHaveLength(1);
      return answer.items[0];
    }

    test("is created by v1, read by v2, updated by v2 and listed by v1", async () => {
      const uid = await createByV1();
      const read = await platform().read(`Get${newer.kind}`, { uid });
      expectSame(await listed(uid), read);
      if (change === undefined) return;
      const body = { uid, [change.v2]: change.value };
      const updated = await platform().ok(`Update${newer.kind}`, { [newer.body]: body }, { over: "grpc" });
      const item = await listed(uid);
      expect(item[change.v1]).toEqual(change.value);
      expectSame(item, updated);
    });

    test("is created by v2, listed by v1 and deleted by v1", async () => {
      const request = await methodFixtures[`Create${newer.kind}`]!.request(platform(), group);
      const created = await platform().ok(`Create${newer.kind}`, request);
      expectSame(await listed(created.uid), await platform().ok(`Get${newer.kind}`, { uid: created.uid }));
      expect(await v1(older.service, older.delete, { [id]: created.uid })).toEqual({});
      await platform().refused(`Get${newer.kind}`, { uid: created.uid }, "NOT_FOUND");
    });

    test("is an empty list when it is missing, or in another organisation", async () => {
      const uid = await createByV1();
      const stranger = await makeMember(platform(), (await makeGroup(platform(), "")).uid, "owner");
      for (const wanted of [uid, freshUid(group)]) {
        const key = id === "group" ? { group: wanted } : { uidp: { ids: [wanted] } };
        const filter = "id" in methodNamed(`v1.${older.service}.${older.list}`).input.field ? { id: wanted } : key;
        const answer = await platform().read(`v1.${older.service}.${older.list}`, filter, { as: stranger.token });
        expect(answer).toEqual({ items: [] });
      }
    });
  });

  test("a PUT resets what it leaves out", async () => {
    const repo = { name: freshName(), description: "d", readme: "# Read", catalogTier: "FIPS", bundles: ["base"] };
    const { id } = await v1("Registry", "CreateRepo", { parentId: group, repo });
    const { items } = await v1("Registry", "ListRepos", { id });
    expect(items[0]).toMatchObject(repo);
    expect(await platform().ok("GetRepoReadme", { uid: id })).toMatchObject({ content: "# Read" });
    const replaced = await v1("Registry", "UpdateRepo", { id, name: repo.name });
    expect(replaced).toMatchObject({ description: "", readme: "", catalogTier: "UNKNOWN", bundles: [] });
    expect(await platform().ok("GetRepo", { uid: id })).toMatchObject({
      description: "",
      catalogTier: "CATALOG_TIER_UNSPECIFIED",
    });
    expect(await platform().ok("GetRepoReadme", { uid: id })).toMatchObject({ content: "" });
  });

  test("creating a repo that exists updates it, unless that is prevented", async () => {
    const name = freshName();
    const first = await v1("Registry", "CreateRepo", { parentId: group, repo: { name, readme: "1" } });
    const second = await v1("Registry", "CreateRepo", { parentId: group, repo: { name, readme: "2" } });
    expect(second).toMatchObject({ id: first.id, readme: "2" });
    const request = { parentId: group, repo: { name }, preventExisting: true };
    await platform().refused("v1.Registry.CreateRepo", request, "ALREADY_EXISTS");
  });

  test("tags can be changed, and none is left out of a list unless it is excluded", async () => {
    const { uid: repo } = await makeRepo(platform(), group);
    for (const name of ["1.0", "sha256-abc", "1.0-20260101", "1.0-r3"])
      await v1("Registry", "CreateTag", { repoId: repo, tag: { name, digest: digestOf(1) } });
    const names = async (filter: Json) =>
      (await v1("Registry", "ListTags", { uidp: { childrenOf: repo }, ...filter })).items.map(({ name }: Json) => name);
    expect((await names({})).sort()).toEqual(["1.0", "1.0-20260101", "1.0-r3", "sha256-abc"]);
    expect(await names({ excludeReferrers: true, excludeDates: true, excludeEpochs: true })).toEqual(["1.0"]);
    const [tag] = (await v1("Registry", "ListTags", { name: "1.0", uidp: { childrenOf: repo } })).items;
    await v1("Registry", "UpdateTag", { id: tag.id, name: "1.0", digest: digestOf(2), deprecated: true });
    expect(await platform().ok("GetTag", { uid: tag.id })).toMatchObject({ digest: digestOf(2), deprecated: true });
  });

  test("bindings are listed with their whole group and role", async () => {
    const { uid, bindingUid, roleUid } = await makeMember(platform(), group, ["CAP_REPO_LIST", "CAP_TAG_LIST"]);
    const [binding] = (await v1("RoleBindings", "List", { id: bindingUid })).items;
    expect(binding).toMatchObject({ identity: uid, role: { id: roleUid, capabilities: ["repo.list", "tag.list"] } });
    const { items } = await v1("Groups", "List", { id: group });
    expect(binding.group).toEqual(items[0]);
    expect(binding.group.status).toBe("ORG_STATUS_READY");
  });

  test("roles are found by their parent, and the built-in ones by /", async () => {
    const { uid } = await platform().ok("CreateRole", {
      parent: group,
      role: { name: freshName(), capabilities: ["CAP_REPO_LIST"] },
    });
    const ids = async (filter: Json) => (await v1("Roles", "List", filter)).items.map(({ id }: Json) => id);
    expect(await ids({ parent: group })).toContain(uid);
    expect((await ids({ parent: group })).every((id: string) => id.startsWith(`${group}/`))).toBe(true);
    expect((await ids({ parent: "/" })).every((id: string) => !id.includes("/"))).toBe(true);
    expect(await ids({ parent: group, uidp: { childrenOf: platform().root } })).toEqual([]);
  });

  test("what only the hosted service has is refused by its name in v1", async () => {
    const refused = async (method: string, request: Json) =>
      (await platform().refused(method, request, "INVALID_ARGUMENT")).details.flatMap(
        ({ fieldViolations = [] }: Json) => fieldViolations.map(({ field }: Json) => field),
      );
    const repo = { name: freshName(), customOverlay: {} };
    expect(await refused("v1.Registry.CreateRepo", { parentId: group, repo })).toEqual(["custom_overlay"]);
    const identity = { name: freshName(), servicePrincipal: "INGESTER" };
    expect(await refused("v1.Identities.Create", { parentId: group, identity })).toEqual(["service_principal"]);
    const role = { name: freshName(), capabilities: ["repo.list", "repo.lst"] };
    expect(await refused("v1.Roles.Create", { parentId: group, role })).toEqual(["capabilities[1]"]);
    const long = { name: freshName(), capabilities: ["x".repeat(256)] };
    expect(await refused("v1.Roles.Create", { parentId: group, role: long })).toEqual(["capabilities[0]"]);
    const { advisory } = await methodFixtures["v1.Advisories.Create"]!.request(platform(), group);
    const advisoryId = "A".repeat(256);
    const request = { parentId: group, advisory: { ...advisory, advisoryId } };
    expect(await refused("v1.Advisories.Create", request)).toEqual(["advisory_id"]);
    expect(await refused("v1.RoleBindings.Create", { parent: group, roleBinding: {} })).toEqual(["identity", "role"]);
  });

  test("advisories are written by v1 and read by both", async () => {
    const request = await methodFixtures["v1.Advisories.Create"]!.request(platform(), group);
    const created = await v1("Advisories", "Create", request);
    await platform().refused("v1.Advisories.Create", request, "ALREADY_EXISTS");
    const read = await platform().read("GetAdvisory", { uid: created.id });
    expect(read).toMatchObject({ advisoryId: created.advisoryId, aliases: ["CVE-2026-1000"] });
    expect(read.events).toMatchObject([{ fixed: { fixedVersion: "1.2.3-r0" } }]);
    const advisoryEvent = { author: "you@example.com", status: "PENDING", fixNotPlanned: { note: "old" } };
    const added = await v1("Advisories", "CreateAdvisoryEvent", { parentId: created.id, advisoryEvent });
    expect(added).toMatchObject(advisoryEvent);
    const { items } = await v1("Advisories", "ListAdvisoryEvents", { parentId: created.id });
    expect(items.map(({ id }: Json) => id)).toContain(added.id);
    const reviewed = { ...advisoryEvent, id: added.id, status: "APPROVED" };
    expect(await v1("Advisories", "UpdateAdvisoryEvent", reviewed)).toMatchObject({ id: added.id, status: "APPROVED" });
    const { items: approved } = await v1("Advisories", "List", { id: created.id, eventAuthor: ["you@example.com"] });
    expect(approved).toHaveLength(1);
    await v1("Advisories", "Update", { ...created, aliases: [], events: [] });
    expect(await platform().ok("GetAdvisory", { uid: created.id })).toMatchObject({ aliases: [], events: [] });
    await v1("Advisories", "Delete", { id: created.id });
    await platform().refused("GetAdvisory", { uid: created.id }, "NOT_FOUND");
  });

  test("an advisory of a feed gets events, but is not replaced or deleted", async () => {
    const { uid } = await methodFixtures.GetAdvisory!.request(platform(), group);
    const before = await platform().ok("GetAdvisory", { uid });
    const advisoryEvent = { author: "me@example.com", status: "APPROVED", pendingUpstreamFix: { note: "soon" } };
    await v1("Advisories", "CreateAdvisoryEvent", { parentId: uid, advisoryEvent });
    const after = await platform().ok("GetAdvisory", { uid });
    expect(after.events).toHaveLength(before.events.length + 1);
    await v1("Advisories", "Delete", { id: uid });
    expect(await platform().ok("GetAdvisory", { uid })).toMatchObject({ events: before.events });
    await platform().refused("v1.Advisories.Delete", { id: uid }, "FAILED_PRECONDITION");
  });

  test("a whole list is the same in parts and in one piece, and ends at the limit of the server", async () => {
    const { uid: parent } = await makeGroup(platform(), group);
    const count = 450;
    for (let i = 0; i < count; i += 50)
      await Promise.all(Array.from({ length: 50 }, () => makeRepo(platform(), parent)));
    const filter = { uidp: { childrenOf: parent } };
    const { items } = await platform().read("v1.Registry.ListRepos", filter);
    expect(new Set(items.map(({ id }: Json) => id)).size).toBe(count);
    const page = await platform().ok("ListRepos", { ...filter, pageSize: 200 });
    expect(items.slice(0, 200).map(({ name }: Json) => name)).toEqual(page.repos.map(({ name }: Json) => name));
    await platform().restart({ v1MaxListItems: count - 1 });
    const { message } = await platform().refused("v1.Registry.ListRepos", filter, "RESOURCE_EXHAUSTED");
    expect(message).toBe(
      `Resource exhausted: the list has ${count} items, more than ${count - 1} (--v1-max-list-items); filter it, or page with platform.registry.v2.ReposService.ListRepos`,
    );
    await platform().restart();
  });

  test("a create with an idempotency key takes effect once", async () => {
    const key = { headers: { "idempotency-key": freshName() } };
    const request = { parent: group, group: { name: freshName() } };
    const first = await platform().ok("v1.Groups.Create", request, key);
    expect(await platform().ok("v1.Groups.Create", request, { ...key, over: "grpc" })).toEqual(first);
    expect((await v1("Groups", "List", { name: request.group.name })).items).toHaveLength(1);
  });

  test("answers name their successor and carry no word of deprecation", async () => {
    for (const [name, path] of [
      ["v1.Groups.List", "/iam/v2/groups"],
      ["v1.Registry.ListRepos", "/registry/v2/repos"],
      ["v1.Artifacts.List", "/libraries/v2/artifacts"],
    ] as const) {
      const request = await methodFixtures[name]!.request(platform(), group);
      const outcome = await platform().call(name, request, {});
      expect(outcome.header("link")).toBe(`<${path}>; rel="successor-version"`);
      expect([outcome.header("deprecation"), outcome.header("sunset")]).toEqual([null, null]);
    }
  });
});

test("every method of v1 that the server mounts is reached by a path of v1", () => {
  for (const [name, method] of methodsOfV1) {
    const { value } = getOption(method, http).pattern;
    expect(value, name).toMatch(/^\/[a-z]+\/v1\//);
  }
});
