/** Groups: the hierarchy, who makes organisations, what keeps a group from being deleted, verified organisations. */
import { expect, test } from "vitest";
import {
  bind,
  builtInRole,
  freshName,
  freshUid,
  makeGroup,
  makeIdentity,
  makeMember,
  makeRepo,
  makeRole,
  makeTag,
} from "./fixtures.ts";
import { detailOf, fieldsOf, violationsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

onEveryServer("groups", (platform) => {
  test.each(protocols)("create, get, update, delete over %s", async (over) => {
    const name = freshName("group");
    const group = { name, description: "Folder: ü & co." };
    const created = await platform().ok("CreateGroup", { parent: platform().root, group }, { over });
    expect(created).toEqual({
      uid: expect.stringMatching(new RegExp(`^${platform().root}/[0-9a-f]{16}$`)),
      name,
      description: "Folder: ü & co.",
      resourceLimits: {
        groups: 100_000,
        identities: 1_000_000,
        roleBindings: 1_000_000,
        subscriptions: 10_000,
        repositories: 10_000_000,
        tags: 100_000_000,
      },
      verified: false,
      createTime: expect.stringMatching(instant),
      updateTime: created.createTime,
      kind: "ORG_KIND_UNSPECIFIED",
      status: "ORG_STATUS_READY",
      etag: expect.stringMatching(/^".+"$/),
    });
    const { uid } = created;
    expect(await platform().read("GetGroup", { uid })).toEqual(created);

    const updated = await platform().ok("UpdateGroup", { group: { uid, description: "Changed" } }, { over });
    expect(updated).toMatchObject({ uid, name, description: "Changed", createTime: created.createTime });
    expect(updated.etag).not.toBe(created.etag);
    expect(await platform().read("GetGroup", { uid })).toEqual(updated);

    expect(await platform().ok("DeleteGroup", { uid }, { over })).toEqual({});
    const gone = await platform().refused("GetGroup", { uid }, "NOT_FOUND");
    expect(gone.message).toBe(`Not found: Group "${uid}" does not exist`);
    expect(detailOf(gone)).toEqual({ resourceType: "iam.platform.internal/Group", resourceName: uid });
    await platform().refused("DeleteGroup", { uid }, "NOT_FOUND");
    await platform().refused("UpdateGroup", { group: { uid, description: "x" } }, "NOT_FOUND");
  });

  test("two groups may have one name", async () => {
    const name = freshName();
    const [first, second] = [
      await makeGroup(platform(), platform().root, { name }),
      await makeGroup(platform(), platform().root, { name }),
    ];
    expect(first.uid).not.toBe(second.uid);
    const page = await platform().read("ListGroups", { name });
    expect(page.totalCount).toBe("2");
    expect((await platform().read("ListGroups", { name: name.slice(0, -1) })).totalCount).toBe("0");
  });

  test.each([
    ["", ["name"]],
    ["Upper", ["name"]],
    ["a/b", ["name"]],
    ["tab\t", ["name"]],
    ["x".repeat(256), ["name"]],
  ])("refuses the name %j", async (name, fields) => {
    const request = { parent: platform().root, group: { name } };
    expect(fieldsOf(await platform().refused("CreateGroup", request, "INVALID_ARGUMENT"))).toEqual(fields);
  });

  test.each(["a", "a b", "a.b_c-d 0", "x".repeat(255)])("takes the name %j", async (name) => {
    expect((await makeGroup(platform(), platform().root, { name })).name).toBe(name);
  });

  test("descriptions are one line of at most 512 characters, counted as characters", async () => {
    const description = "\u{1f600}".repeat(512);
    expect((await makeGroup(platform(), platform().root, { description })).description).toBe(description);
    for (const wrong of ["x".repeat(513), "two\nlines", "tab\there"]) {
      const request = { parent: platform().root, group: { name: freshName(), description: wrong } };
      const status = await platform().refused("CreateGroup", request, "INVALID_ARGUMENT");
      expect(violationsOf(status)).toEqual([
        { field: "description", description: 'description must match "^[\\S ]{0,512}$"' },
      ]);
    }
  });

  test("a missing parent is not found, a malformed one too", async () => {
    const group = { name: "x" };
    for (const parent of [freshUid(platform().root), freshUid(), "not-a-uid", `${platform().root}/abc`]) {
      const status = await platform().refused("CreateGroup", { parent, group }, "NOT_FOUND");
      expect(detailOf(status)).toEqual({ resourceType: "iam.platform.internal/Group", resourceName: parent });
    }
  });

  test("a parent is a uid, never a name", async () => {
    const { name } = await makeGroup(platform());
    await platform().refused("CreateGroup", { parent: name, group: { name: "x" } }, "NOT_FOUND");
  });

  test("an empty uid is invalid, a malformed one not found, both before authorization", async () => {
    const stranger = await makeIdentity(platform(), platform().root);
    const as = await platform().token(stranger.uid);
    for (const [method, request] of [
      ["GetGroup", (uid: string) => ({ uid })],
      ["DeleteGroup", (uid: string) => ({ uid })],
      ["UpdateGroup", (uid: string) => ({ group: { uid, name: "x" } })],
    ] as const) {
      expect(fieldsOf(await platform().refused(method, request(""), "INVALID_ARGUMENT", { as }))).toEqual(["uid"]);
      const status = await platform().refused(method, request("nonsense"), "NOT_FOUND", { as });
      expect(detailOf(status)).toMatchObject({ resourceName: "nonsense" });
    }
  });

  test("permission is decided before validation", async () => {
    const { token: as } = await makeMember(platform(), platform().root, ["CAP_VERSION_LIST"]);
    await platform().refused(
      "UpdateGroup",
      { group: { uid: platform().root, name: "NOT A NAME" } },
      "PERMISSION_DENIED",
      { as },
    );
  });

  test.each(["/iam/v2/groups", "/iam/v2/groups/"])(
    "POST %s makes a root group, its creator becomes owner",
    async (path) => {
      const response = await platform().fetch(path, {
        method: "POST",
        body: JSON.stringify({ name: freshName("org") }),
      });
      expect(response.status).toBe(200);
      const group = (await response.json()) as { uid: string; status: string };
      expect(group.uid).toMatch(/^[0-9a-f]{40}$/);
      expect(group.status).toBe("ORG_STATUS_READY");
      const bindings = await platform().read("ListRoleBindings", { group: group.uid });
      expect(bindings.totalCount).toBe("1");
      expect(bindings.roleBindings[0]).toMatchObject({
        identity: { uid: platform().administrator },
        role: { name: "owner" },
        group: { uid: group.uid },
      });
      // Nothing but its creator's binding is in it, so it can be deleted, and the binding goes with it.
      await platform().ok("DeleteGroup", { uid: group.uid });
      expect((await platform().read("ListRoleBindings", { group: group.uid })).totalCount).toBe("0");
    },
  );

  test("an owner of an organisation makes groups in it, but no organisations", async () => {
    const { uid } = await makeGroup(platform());
    const { token: as } = await makeMember(platform(), platform().root, "owner");
    const folder = await platform().ok("CreateGroup", { parent: uid, group: { name: "x" } }, { as });
    expect(folder.uid).toMatch(new RegExp(`^${uid}/`));
    expect((await platform().read("ListRoleBindings", { group: folder.uid })).totalCount).toBe("0");
    await platform().refused("CreateGroup", { group: { name: "x" } }, "PERMISSION_DENIED", { as });
  });

  test("deletion names everything that is in the way, in its order, and leaves all of it", async () => {
    const { uid } = await makeGroup(platform());
    const folder = await makeGroup(platform(), uid);
    const repo = await makeRepo(platform(), folder.uid);
    const identity = await makeIdentity(platform(), uid);
    const role = await makeRole(platform(), uid, ["CAP_REPO_LIST"]);
    const status = await platform().refused("DeleteGroup", { uid }, "FAILED_PRECONDITION");
    const plurals = ["groups", "repos", "identities", "roles"];
    expect(violationsOf(status)).toEqual(
      plurals.map((plural) => ({
        type: "RESOURCE_NOT_EMPTY",
        subject: uid,
        description: `cannot delete group with child ${plural}`,
      })),
    );
    expect(status.message).toBe(
      `Precondition failed: ${plurals.map((plural) => `cannot delete group with child ${plural}`).join("; ")}`,
    );
    for (const [method, blocker] of [
      ["GetGroup", folder],
      ["GetRepo", repo],
      ["GetIdentity", identity],
      ["GetRole", role],
    ] as const)
      await platform().read(method, { uid: blocker.uid });
  });

  test.each([
    ["groups", (group: string) => makeGroup(platform(), group), "DeleteGroup"],
    ["repos", (group: string) => makeRepo(platform(), group), "DeleteRepo"],
    ["identities", (group: string) => makeIdentity(platform(), group), "DeleteIdentity"],
    ["roles", (group: string) => makeRole(platform(), group, ["CAP_REPO_LIST"]), "DeleteRole"],
  ] as const)("%s alone keep a group, and no longer once they are gone", async (plural, make, remove) => {
    const { uid } = await makeGroup(platform());
    const child = await make(uid);
    const status = await platform().refused("DeleteGroup", { uid }, "FAILED_PRECONDITION");
    expect(violationsOf(status).map(({ description }) => description)).toEqual([
      `cannot delete group with child ${plural}`,
    ]);
    await platform().ok(remove, { uid: child.uid });
    await platform().ok("DeleteGroup", { uid });
  });

  test("bindings go with their group", async () => {
    const { uid } = await makeGroup(platform());
    const identity = await makeIdentity(platform(), platform().root);
    const binding = await bind(platform(), uid, identity.uid, await builtInRole(platform(), "viewer"));
    await platform().ok("DeleteGroup", { uid });
    await platform().refused("GetRoleBinding", { uid: binding.uid }, "NOT_FOUND");
    expect((await platform().read("ListRoleBindings", { identity: identity.uid })).totalCount).toBe("0");
  });

  test("a child and the deletion of its group never both succeed", async () => {
    const parents = await Promise.all(Array.from({ length: 8 }, () => makeGroup(platform())));
    await Promise.all(
      parents.map(async ({ uid }) => {
        const [made, deleted] = await Promise.all([
          platform().call("CreateRepo", { parent: uid, repo: { name: "late" } }),
          platform().call("DeleteGroup", { uid }),
        ]);
        expect([made.ok, deleted.ok].filter(Boolean)).toHaveLength(1);
      }),
    );
  });

  test("verified and kind of an organisation need `internal`", async () => {
    const name = freshName("verified");
    const organisation = await platform().ok("CreateGroup", {
      group: { name, verified: true, kind: "ORG_KIND_CUSTOMER" },
    });
    expect(organisation).toMatchObject({ verified: true, kind: "ORG_KIND_CUSTOMER" });
    const { uid } = organisation;
    const { token: as } = await makeMember(platform(), uid, "owner");
    for (const change of [{ verified: false }, { kind: "ORG_KIND_DEV" }, { name: freshName() }]) {
      const request = { group: { uid, ...change }, updateMask: Object.keys(change).join() };
      await platform().refused("UpdateGroup", request, "PERMISSION_DENIED", { as });
    }
    expect(await platform().ok("UpdateGroup", { group: { uid, description: "mine" } }, { as })).toMatchObject({
      description: "mine",
      verified: true,
      kind: "ORG_KIND_CUSTOMER",
    });

    const folder = await makeGroup(platform(), uid);
    expect(folder, "a folder has its organisation's kind and status").toMatchObject({
      verified: false,
      kind: "ORG_KIND_CUSTOMER",
      status: "ORG_STATUS_READY",
    });
    expect(await platform().read("GetGroup", { uid: folder.uid })).toEqual(folder);
    const { groups } = await platform().read("ListGroups", { uidp: { descendantsOf: uid } });
    expect(groups).toEqual([folder]);
    for (const field of ["verified", "kind"]) {
      const group = { name: "x", [field]: field === "kind" ? "ORG_KIND_CUSTOMER" : true };
      const status = await platform().refused("CreateGroup", { parent: uid, group }, "INVALID_ARGUMENT");
      expect(fieldsOf(status)).toEqual([field]);
    }

    const taken = { group: { name, verified: true, kind: "ORG_KIND_CUSTOMER" } };
    const status = await platform().refused("CreateGroup", taken, "ALREADY_EXISTS");
    expect(detailOf(status)).toEqual({ resourceType: "iam.platform.internal/Group", resourceName: uid });
    const { uid: other } = await makeGroup(platform(), "", { verified: true, kind: "ORG_KIND_CUSTOMER" });
    const capabilities = ["CAP_INTERNAL", "CAP_IAM_GROUPS_UPDATE"];
    const staff = { as: (await makeMember(platform(), other, capabilities)).token };
    const hidden = await platform().refused("UpdateGroup", { group: { uid: other, name } }, "ALREADY_EXISTS", staff);
    expect(detailOf(hidden), "of a group that the caller may not get").toEqual({
      resourceType: "iam.platform.internal/Group",
    });
    expect((await platform().ok("CreateGroup", { group: { name } })).name, "unverified ones may share it").toBe(name);
  });

  test("a verified organisation needs a kind, an unverified one has none", async () => {
    const name = freshName();
    for (const group of [
      { name, verified: true },
      { name, kind: "ORG_KIND_DEV" },
    ])
      expect(fieldsOf(await platform().refused("CreateGroup", { group }, "INVALID_ARGUMENT"))).toEqual(["kind"]);
  });

  test("groups are reached through grants at or above them", async () => {
    const top = await makeGroup(platform());
    const middle = await makeGroup(platform(), top.uid);
    const bottom = await makeGroup(platform(), middle.uid);
    const repo = await makeRepo(platform(), bottom.uid);
    const tag = await makeTag(platform(), repo.uid);
    const { token: as } = await makeMember(platform(), top.uid, "viewer", middle.uid);
    for (const [method, uid] of [
      ["GetGroup", middle.uid],
      ["GetGroup", bottom.uid],
      ["GetRepo", repo.uid],
      ["GetTag", tag.uid],
    ] as const)
      await platform().read(method, { uid }, { as });
    await platform().refused("GetGroup", { uid: top.uid }, "PERMISSION_DENIED", { as });
    const { groups } = await platform().read("ListGroups", {}, { as });
    expect(groups.map(({ uid }: { uid: string }) => uid)).toEqual([middle.uid, bottom.uid]);
  });
});

onEveryServer(
  "root groups that are open to root-level identities",
  (platform) => {
    test("an identity that lives in a group still makes none", async () => {
      const { token: as } = await makeMember(platform(), platform().root, "owner");
      await platform().refused("CreateGroup", { group: { name: "mine" } }, "PERMISSION_DENIED", { as });
    });

    test("a root-level identity does", async () => {
      const group = await platform().ok("CreateGroup", { group: { name: "mine" } });
      expect(group.uid).toMatch(/^[0-9a-f]{40}$/);
    });
  },
  { openRootGroups: true },
);
