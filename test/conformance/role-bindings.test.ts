/**
 * Role bindings: whole answers, live grants, no way to pass on what one does not hold, batches that are all or nothing.
 */
import { expect, test } from "vitest";
import { parentOf } from "../../src/uid.ts";
import type { Json } from "./contract.ts";
import {
  bind,
  builtInRole,
  freshName,
  freshUid,
  makeAdministrator,
  makeGroup,
  makeIdentity,
  makeMember,
  makeRepo,
  makeRole,
  makeUser,
  recoverAdministrator,
} from "./fixtures.ts";
import { detailOf, fieldsOf, violationsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

onEveryServer("role bindings", (platform) => {
  test("the last administrator stays, whatever would remove it", async () => {
    const { administrator: uid, root } = platform();
    const { roleBindings } = await platform().ok("ListRoleBindings", { identity: uid, group: root });
    const [binding] = roleBindings as Json[];
    const viewer = await builtInRole(platform(), "viewer");
    const removals = [
      ["DeleteIdentity", { uid }],
      ["DeleteRoleBinding", { uid: binding.uid }],
      ["UpdateRoleBinding", { roleBinding: { uid: binding.uid, roleUid: viewer } }],
    ] as const;
    const refuse = async () => {
      for (const [method, request] of removals) {
        const status = await platform().refused(method, request, "FAILED_PRECONDITION");
        expect(violationsOf(status), method).toMatchObject([{ type: "LAST_OWNER" }]);
      }
    };
    await refuse();
    const other = await makeAdministrator(platform());
    await platform().ok("DeleteIdentity", { uid: other.uid });
    await refuse();
    const third = await makeAdministrator(platform());
    await platform().ok("DeleteRoleBinding", { uid: binding.uid }, { as: third.token });
    await platform().refused("DeleteIdentity", { uid: third.uid }, "FAILED_PRECONDITION", { as: third.token });
    const group = parentOf(third.bindingUid);
    const status = await platform().refused("DeleteGroup", { uid: group }, "FAILED_PRECONDITION", { as: third.token });
    expect(violationsOf(status)).toMatchObject([{ type: "LAST_OWNER" }]);
    await recoverAdministrator(platform());
    await platform().ok("DeleteGroup", { uid: group });
    await platform().ok("DeleteIdentity", { uid: third.uid });
  });

  test.each(protocols)("create, get, list, update and delete over %s, always whole", async (over) => {
    const group = await makeGroup(platform(), platform().root, { description: "A folder" });
    const identity = await makeIdentity(platform(), platform().root, { description: "A bot" });
    const role = await makeRole(platform(), platform().root, ["CAP_REPO_LIST"], { description: "A role" });
    const roleBinding = { identityUid: identity.uid, roleUid: role.uid };
    const created = await platform().ok("CreateRoleBinding", { parent: group.uid, roleBinding }, { over });
    expect(created).toEqual({
      uid: expect.stringMatching(new RegExp(`^${group.uid}/[0-9a-f]{16}$`)),
      identity: {
        uid: identity.uid,
        name: identity.name,
        description: "A bot",
        subject: identity.claimMatch.subject,
        issuer: identity.claimMatch.issuer,
        email: "",
      },
      group: { uid: group.uid, name: group.name, description: "A folder" },
      role: { uid: role.uid, name: role.name, description: "A role" },
      createTime: expect.any(String),
      updateTime: created.createTime,
      identityUid: identity.uid,
      roleUid: role.uid,
      etag: expect.any(String),
    });
    const { uid } = created;
    expect(await platform().read("GetRoleBinding", { uid })).toEqual(created);
    expect((await platform().read("ListRoleBindings", { group: group.uid })).roleBindings).toEqual([created]);

    const viewer = await builtInRole(platform(), "viewer");
    const updated = await platform().ok("UpdateRoleBinding", { roleBinding: { uid, roleUid: viewer } }, { over });
    expect(updated).toMatchObject({
      identity: created.identity,
      group: created.group,
      role: { uid: viewer, name: "viewer" },
    });
    expect(await platform().read("GetRoleBinding", { uid })).toEqual(updated);

    await platform().ok("DeleteRoleBinding", { uid }, { over });
    expect(detailOf(await platform().refused("GetRoleBinding", { uid }, "NOT_FOUND"))).toEqual({
      resourceType: "iam.platform.internal/RoleBinding",
      resourceName: uid,
    });
    await platform().refused("DeleteRoleBinding", { uid }, "NOT_FOUND");
  });

  test("shows the names of now", async () => {
    const group = await makeGroup(platform());
    const identity = await makeIdentity(platform(), platform().root);
    const { uid } = await bind(platform(), group.uid, identity.uid, await builtInRole(platform(), "viewer"));
    await platform().ok("UpdateGroup", { group: { uid: group.uid, name: "renamed" } });
    await platform().ok("UpdateIdentity", { identity: { uid: identity.uid, name: "renamed too" } });
    expect(await platform().read("GetRoleBinding", { uid })).toMatchObject({
      group: { name: "renamed" },
      identity: { name: "renamed too" },
    });
  });

  test("only identity_uid and role_uid are read", async () => {
    const identity = await makeIdentity(platform(), platform().root);
    const viewer = await builtInRole(platform(), "viewer");
    const created = await platform().ok("CreateRoleBinding", {
      parent: platform().root,
      roleBinding: {
        uid: freshUid(),
        identityUid: identity.uid,
        roleUid: viewer,
        group: { uid: freshUid(), name: "elsewhere" },
        role: { name: "owner" },
        identity: { name: "somebody" },
        createTime: "2001-01-01T00:00:00.000Z",
      },
    });
    expect(created).toMatchObject({
      group: { uid: platform().root },
      role: { name: "viewer" },
      identity: { uid: identity.uid },
    });
    expect(created.createTime).not.toMatch(/^2001/);
    const answer = await platform().ok("UpdateRoleBinding", { roleBinding: { ...created, group: { name: "x" } } });
    expect(answer).toEqual(created);
  });

  test.each([
    ["nothing", {}, ["identity_uid", "role_uid"]],
    ["no role", { identityUid: "IDENTITY" }, ["role_uid"]],
    ["uids that are none", { identityUid: "me", roleUid: "owner" }, ["identity_uid", "role_uid"]],
    ["an unknown identity", { identityUid: freshUid(), roleUid: "VIEWER" }, ["identity_uid"]],
    ["an unknown role", { identityUid: "IDENTITY", roleUid: freshUid() }, ["role_uid"]],
  ])("refuses %s", async (_, given: { identityUid?: string; roleUid?: string }, fields) => {
    const { uid } = await makeIdentity(platform(), platform().root);
    const viewer = await builtInRole(platform(), "viewer");
    const roleBinding = {
      ...given,
      ...(given.identityUid === "IDENTITY" && { identityUid: uid }),
      ...(given.roleUid === "VIEWER" && { roleUid: viewer }),
    };
    const status = await platform().refused(
      "CreateRoleBinding",
      { parent: platform().root, roleBinding },
      "INVALID_ARGUMENT",
    );
    expect(fieldsOf(status)).toEqual(fields);
  });

  test("a custom role is bound only in its own subtree", async () => {
    const { uid: folder } = await makeGroup(platform());
    const role = await makeRole(platform(), folder, ["CAP_REPO_LIST"]);
    const identity = await makeIdentity(platform(), platform().root);
    const roleBinding = { identityUid: identity.uid, roleUid: role.uid };
    const above = { parent: platform().root, roleBinding };
    expect(fieldsOf(await platform().refused("CreateRoleBinding", above, "INVALID_ARGUMENT"))).toEqual(["role_uid"]);
    await platform().ok("CreateRoleBinding", { parent: folder, roleBinding });
  });

  test("nobody grants what they do not hold there, by create, update or batch", async () => {
    const { uid: folder } = await makeGroup(platform());
    const may = ["CAP_IAM_ROLE_BINDINGS_CREATE", "CAP_IAM_ROLE_BINDINGS_UPDATE", "CAP_REPO_LIST"];
    const member = await makeMember(platform(), platform().root, may, folder);
    const as = member.token;
    const harmless = await makeRole(platform(), folder, ["CAP_REPO_LIST"]);
    const owner = await builtInRole(platform(), "owner");
    const identityUid = (await makeIdentity(platform(), platform().root)).uid;
    const roleBinding = { identityUid, roleUid: owner };
    const status = await platform().refused("CreateRoleBinding", { parent: folder, roleBinding }, "PERMISSION_DENIED", {
      as,
    });
    expect(status.details).toHaveLength(1);
    const batch = {
      parent: folder,
      requests: [{ roleBinding: { identityUid, roleUid: harmless.uid } }, { roleBinding }],
    };
    await platform().refused("BatchCreateRoleBindings", batch, "PERMISSION_DENIED", { as });
    expect((await platform().read("ListRoleBindings", { identity: identityUid })).totalCount).toBe("0");

    const own = await platform().ok(
      "CreateRoleBinding",
      { parent: folder, roleBinding: { identityUid, roleUid: harmless.uid } },
      { as },
    );
    const raised = { roleBinding: { uid: own.uid, roleUid: owner } };
    await platform().refused("UpdateRoleBinding", raised, "PERMISSION_DENIED", { as });
    await platform().refused(
      "UpdateRoleBinding",
      { roleBinding: { uid: member.bindingUid, roleUid: owner } },
      "PERMISSION_DENIED",
      { as },
    );
    expect((await platform().read("GetRoleBinding", { uid: own.uid })).role.uid).toBe(harmless.uid);
  });

  test("nobody takes over a binding of more than they hold by changing its identity", async () => {
    const { uid: folder } = await makeGroup(platform());
    const { token: as, uid: self } = await makeMember(
      platform(),
      platform().root,
      ["CAP_IAM_ROLE_BINDINGS_UPDATE"],
      folder,
    );
    const other = await makeMember(platform(), platform().root, "owner", folder);
    const takeover = { roleBinding: { uid: other.bindingUid, identityUid: self } };
    await platform().refused("UpdateRoleBinding", takeover, "PERMISSION_DENIED", { as });
  });

  test("platform.admin is granted by initialisation only", async () => {
    const identity = await makeIdentity(platform(), platform().root);
    const roleUid = await builtInRole(platform(), "platform.admin");
    const request = { parent: platform().root, roleBinding: { identityUid: identity.uid, roleUid } };
    await platform().refused("CreateRoleBinding", request, "PERMISSION_DENIED");
  });

  test("counts on the next call, and so does its deletion", async () => {
    const { uid: folder } = await makeGroup(platform());
    const repo = await makeRepo(platform(), folder);
    const identity = await makeIdentity(platform(), platform().root);
    const as = await platform().token(identity.uid);
    const viewer = await builtInRole(platform(), "viewer");
    for (let round = 0; round < 3; round++) {
      await platform().refused("GetRepo", { uid: repo.uid }, "PERMISSION_DENIED", { as });
      expect((await platform().read("ListRepos", {}, { as })).totalCount).toBe("0");
      const binding = await bind(platform(), folder, identity.uid, viewer);
      await platform().read("GetRepo", { uid: repo.uid }, { as });
      expect((await platform().read("ListRepos", {}, { as })).totalCount).toBe("1");
      await platform().ok("DeleteRoleBinding", { uid: binding.uid });
    }
  });

  test("lists by identity, group and role, alone and together", async () => {
    const { uid: folder } = await makeGroup(platform());
    const role = (await makeRole(platform(), platform().root, ["CAP_REPO_LIST"])).uid;
    const [one, two] = [await makeIdentity(platform(), folder), await makeIdentity(platform(), folder)];
    const viewer = await builtInRole(platform(), "viewer");
    const first = await bind(platform(), folder, one.uid, role);
    const second = await bind(platform(), folder, two.uid, role);
    const third = await bind(platform(), folder, two.uid, viewer);
    const by = async (filter: object) =>
      (await platform().read("ListRoleBindings", filter)).roleBindings.map(({ uid }: { uid: string }) => uid);
    expect(await by({ identity: one.uid })).toEqual([first.uid]);
    expect(await by({ role })).toEqual([first.uid, second.uid].sort());
    expect(await by({ group: folder })).toEqual([first.uid, second.uid, third.uid].sort());
    expect(await by({ identity: two.uid, role: viewer })).toEqual([third.uid]);
    expect(await by({ identity: one.uid, role: viewer })).toEqual([]);
    expect(await by({ identity: freshUid(folder) })).toEqual([]);
    expect(await by({ uidp: { childrenOf: folder }, role: viewer })).toEqual([third.uid]);
    for (const field of ["identity", "group", "role"])
      expect(fieldsOf(await platform().refused("ListRoleBindings", { [field]: "x" }, "INVALID_ARGUMENT"))).toEqual([
        field,
      ]);
  });

  test.each(protocols)("a batch over %s answers in its order and takes the role of the batch", async (over) => {
    const { uid: parent } = await makeGroup(platform());
    const viewer = await builtInRole(platform(), "viewer");
    const identities = [];
    for (let i = 0; i < 5; i++) identities.push((await makeIdentity(platform(), parent)).uid);
    const requests = identities.map((identityUid, i) => ({
      ...(i % 2 === 0 && { parent }),
      roleBinding: { identityUid, ...(i === 1 && { roleUid: viewer }) },
    }));
    const { roleBindings } = await platform().ok(
      "BatchCreateRoleBindings",
      { parent, roleUid: viewer, requests },
      { over },
    );
    expect(roleBindings.map(({ identity }: { identity: { uid: string } }) => identity.uid)).toEqual(identities);
    for (const binding of roleBindings)
      expect(await platform().read("GetRoleBinding", { uid: binding.uid })).toEqual(binding);
  });

  test("a batch is one to 25 bindings, all or nothing", async () => {
    const { uid: parent } = await makeGroup(platform());
    const viewer = await builtInRole(platform(), "viewer");
    const goods: Json[] = [];
    for (let i = 0; i < 25; i++) {
      const { uid: identityUid } = await makeIdentity(platform(), parent);
      goods.push({ roleBinding: { identityUid, roleUid: viewer } });
    }
    const count = async () => (await platform().read("ListRoleBindings", { group: parent })).totalCount;
    for (const requests of [[], [...goods, goods[0]]])
      expect(
        fieldsOf(await platform().refused("BatchCreateRoleBindings", { parent, requests }, "INVALID_ARGUMENT")),
      ).toEqual(["requests"]);
    const bad = { roleBinding: { identityUid: freshUid(), roleUid: viewer } };
    await platform().refused(
      "BatchCreateRoleBindings",
      { parent, requests: [...goods.slice(0, 2), bad] },
      "INVALID_ARGUMENT",
    );
    expect(await count()).toBe("0");
    const { roleBindings } = await platform().ok("BatchCreateRoleBindings", { parent, requests: goods });
    expect(roleBindings).toHaveLength(25);
    expect(await count()).toBe("25");
  });

  test("a sub-request names no other parent and no other role than its batch", async () => {
    const { uid: parent } = await makeGroup(platform());
    const viewer = await builtInRole(platform(), "viewer");
    const editor = await builtInRole(platform(), "editor");
    const { uid: identityUid } = await makeIdentity(platform(), parent);
    const status = await platform().refused(
      "BatchCreateRoleBindings",
      {
        parent,
        roleUid: viewer,
        requests: [
          { roleBinding: { identityUid } },
          { parent: platform().root, roleBinding: { identityUid, roleUid: editor } },
        ],
      },
      "INVALID_ARGUMENT",
    );
    expect(fieldsOf(status)).toEqual(["requests[1].parent", "requests[1].role_binding.role_uid"]);
  });

  test("a missing group is not found", async () => {
    const parent = freshUid(platform().root);
    const roleBinding = {
      identityUid: (await makeIdentity(platform(), platform().root)).uid,
      roleUid: await builtInRole(platform(), "viewer"),
    };
    for (const [method, request] of [
      ["CreateRoleBinding", { parent, roleBinding }],
      ["BatchCreateRoleBindings", { parent, requests: [{ roleBinding }] }],
    ] as const)
      expect(detailOf(await platform().refused(method, request, "NOT_FOUND"))).toEqual({
        resourceType: "iam.platform.internal/Group",
        resourceName: parent,
      });
  });

  test.each(protocols)("show over %s of an identity that the reader may not get its uid alone", async (over) => {
    const { uid: parent } = await makeGroup(platform(), platform().root);
    const { token: as } = await makeMember(platform(), parent, "owner");
    const user = await makeUser(platform());
    const [viewer, editor] = [await builtInRole(platform(), "viewer"), await builtInRole(platform(), "editor")];
    const hidden = { uid: user.uid, name: "", description: "", subject: "", issuer: "", email: "" };
    const roleBinding = { identityUid: user.uid, roleUid: viewer };
    const created = await platform().ok("CreateRoleBinding", { parent, roleBinding }, { over, as });
    expect(created).toMatchObject({ identity: hidden, role: { name: "viewer" }, group: { uid: parent } });
    const { uid } = created;
    expect((await platform().read("GetRoleBinding", { uid }, { as })).identity).toEqual(hidden);
    const { roleBindings } = await platform().read("ListRoleBindings", { identity: user.uid }, { as });
    expect(roleBindings).toEqual([created]);
    const changed = await platform().ok("UpdateRoleBinding", { roleBinding: { uid, roleUid: editor } }, { over, as });
    expect(changed).toMatchObject({ identity: hidden, role: { name: "editor" } });
    const batch = { parent, requests: [{ roleBinding }] };
    const made = await platform().ok("BatchCreateRoleBindings", batch, { over, as });
    expect(made.roleBindings[0].identity).toEqual(hidden);
    const whole = { ...hidden, name: "jane doe", subject: user.subject, issuer: user.issuer, email: user.email };
    expect((await platform().read("GetRoleBinding", { uid })).identity).toEqual(whole);
    expect((await platform().read("ListRoleBindings", { identity: user.uid })).roleBindings[0].identity).toEqual(whole);
  });

  test("show identities of the organisation to whoever may list them, and to nobody else", async () => {
    const { uid: org } = await makeGroup(platform(), platform().root);
    const { uid: folder } = await makeGroup(platform(), org);
    const identity = await makeIdentity(platform(), org);
    const { uid } = await bind(platform(), folder, identity.uid, await builtInRole(platform(), "viewer"));
    const lists = ["CAP_IAM_ROLE_BINDINGS_LIST", "CAP_IAM_IDENTITY_LIST"];
    const seenBy = async (may: string[], at: string) => {
      const { token: as } = await makeMember(platform(), org, may, at);
      return (await platform().read("GetRoleBinding", { uid }, { as })).identity;
    };
    const hidden = { uid: identity.uid, name: "", description: "", subject: "", issuer: "", email: "" };
    expect(await seenBy(lists, org)).toMatchObject({ name: identity.name, subject: identity.claimMatch.subject });
    expect(await seenBy(lists.slice(0, 1), org)).toEqual(hidden);
    expect(await seenBy(lists, folder)).toEqual(hidden); // the identity is above the folder
  });

  test("do not tell users that exist from users that do not, except to whoever may get users", async () => {
    const { uid: org } = await makeGroup(platform(), platform().root);
    const { token: as } = await makeMember(platform(), org, "owner");
    const viewer = await builtInRole(platform(), "viewer");
    const subject = { issuer: "https://login.example.com", subject: freshName() };
    const users = [await makeUser(platform()), await platform().read("LookupIdentity", subject, { as })];
    const told = [];
    for (const { uid: identityUid } of users) {
      const { uid: parent } = await makeGroup(platform(), org);
      const { bindingUid: uid } = await makeMember(platform(), parent, "editor");
      const roleBinding = { identityUid, roleUid: viewer };
      const answers = [
        await platform().ok("CreateRoleBinding", { parent, roleBinding }, { as }),
        await platform().ok("UpdateRoleBinding", { roleBinding: { uid, identityUid } }, { as }),
        await platform().read("ListRoleBindings", { identity: identityUid, role: viewer, group: parent }, { as }),
        await platform().ok("BatchCreateRoleBindings", { parent: org, requests: [{ roleBinding }] }, { as }),
      ];
      const text = JSON.stringify(answers, (name, value) => (/^(?:etag|.*Time)$/.test(name) ? "" : value));
      told.push(text.replaceAll(identityUid, "USER").replaceAll(/\/[0-9a-f]{16}|"group-[^"]*"/g, "_"));
    }
    expect(told[1]).toBe(told[0]);
    const roleBinding = { identityUid: freshUid(), roleUid: viewer };
    const status = await platform().refused("CreateRoleBinding", { parent: org, roleBinding }, "INVALID_ARGUMENT");
    expect(fieldsOf(status)).toEqual(["identity_uid"]);
  });

  test("do not tell another organisation's identities from none", async () => {
    const { uid: parent } = await makeGroup(platform(), platform().root);
    const { token: as } = await makeMember(platform(), parent, "owner");
    const { uid: elsewhere } = await makeGroup(platform(), "");
    const viewer = await builtInRole(platform(), "viewer");
    const texts = [];
    for (const identityUid of [(await makeIdentity(platform(), elsewhere)).uid, freshUid(elsewhere)]) {
      const request = { parent, roleBinding: { identityUid, roleUid: viewer } };
      texts.push((await platform().refused("CreateRoleBinding", request, "INVALID_ARGUMENT", { as })).message);
    }
    expect(texts[1]).toBe(texts[0]);
  });

  test("are one for an identity, a role and a group, however they come about", async () => {
    const { uid: parent } = await makeGroup(platform());
    const [viewer, editor] = [await builtInRole(platform(), "viewer"), await builtInRole(platform(), "editor")];
    const [one, two] = [await makeIdentity(platform(), parent), await makeIdentity(platform(), parent)];
    const first = await bind(platform(), parent, one.uid, viewer);
    const taken = { resourceType: "iam.platform.internal/RoleBinding", resourceName: first.uid };
    const roleBinding = { identityUid: one.uid, roleUid: viewer };
    const expectTaken = async (method: string, request: Json) =>
      expect(detailOf(await platform().refused(method, request, "ALREADY_EXISTS"))).toEqual(taken);
    await expectTaken("CreateRoleBinding", { parent, roleBinding });
    const other = { roleBinding: { identityUid: two.uid, roleUid: editor } };
    await expectTaken("BatchCreateRoleBindings", { parent, requests: [other, { roleBinding }] });
    expect((await platform().read("ListRoleBindings", { group: parent })).totalCount).toBe("1");

    const [ofOther, toOther] = [
      await bind(platform(), parent, two.uid, viewer),
      await bind(platform(), parent, one.uid, editor),
    ];
    await expectTaken("UpdateRoleBinding", { roleBinding: { uid: ofOther.uid, identityUid: one.uid } });
    await expectTaken("UpdateRoleBinding", { roleBinding: { uid: toOther.uid, roleUid: viewer } });
    await platform().ok("UpdateRoleBinding", { roleBinding: { uid: first.uid, ...roleBinding } });
    const { uid: below } = await makeGroup(platform(), parent);
    await bind(platform(), below, one.uid, viewer);
    await platform().ok("DeleteRoleBinding", { uid: first.uid });
    await bind(platform(), parent, one.uid, viewer);
  });

  test("a batch that makes one binding twice makes none", async () => {
    const { uid: parent } = await makeGroup(platform());
    const viewer = await builtInRole(platform(), "viewer");
    const [one, two] = [await makeIdentity(platform(), parent), await makeIdentity(platform(), parent)];
    const requests = [one, two, one].map(({ uid }) => ({ roleBinding: { identityUid: uid } }));
    const batch = { parent, roleUid: viewer, requests };
    const status = await platform().refused("BatchCreateRoleBindings", batch, "ALREADY_EXISTS");
    expect(detailOf(status)).toEqual({ resourceType: "iam.platform.internal/RoleBinding" }); // none exists to be named
    expect(status.message).toBe(
      "Already exists: requests[2] repeats requests[0]: the same identity and role in the same group",
    );
    expect((await platform().read("ListRoleBindings", { group: parent })).totalCount).toBe("0");
  });

  test("are one, however many make them at once", async () => {
    const { uid: parent } = await makeGroup(platform());
    const { uid: identityUid } = await makeIdentity(platform(), parent);
    const request = { parent, roleBinding: { identityUid, roleUid: await builtInRole(platform(), "viewer") } };
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => platform().call("CreateRoleBinding", request)));
    const made = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.message.uid] : []));
    expect(made).toHaveLength(1);
    const refusals = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.status]));
    for (const status of refusals) expect([status.code, detailOf(status).resourceName]).toEqual([6, made[0]]);
  });
});
