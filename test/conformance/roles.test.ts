/** Roles: built-in ones that everybody reads and nobody changes, custom ones that never hold more than their maker. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { builtInRoles } from "../../src/services/index.ts";
import type { Json } from "./contract.ts";
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
} from "./fixtures.ts";
import { detailOf, fieldsOf, violationsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

const changed =
  "the capabilities of a built-in role have changed: if that is meant, run `npx vitest run -u --project conformance test/conformance/roles.test.ts`";

onEveryServer("roles", (platform) => {
  test("the built-in ones are those of built-in-roles.txt, at fixed uids", async () => {
    const { roles, totalCount } = await platform().read("ListRoles", { uidp: { inRoot: true }, pageSize: 200 });
    expect(totalCount).toBe(String(roles.length));
    for (const { uid, name, description } of roles) {
      expect(uid).toBe(createHash("sha256").update(`role\0${name}`).digest("hex").slice(0, 40));
      expect(description).toMatch(/^[A-Z].* Role \(built-in\)$/);
    }
    const limited = roles.filter(({ name }: Json) => name !== "platform.admin"); // which has every capability
    const lines = limited.flatMap(({ name, capabilities }: Json) =>
      capabilities.map((capability: string) => `${name} ${capability}`),
    );
    await expect(`${lines.sort().join("\n")}\n`, changed).toMatchFileSnapshot("built-in-roles.txt");
  });

  test("everybody reads and lists the built-in ones, and sees no custom one without a grant", async () => {
    await makeRole(platform(), platform().root, ["CAP_REPO_LIST"]);
    const as = await platform().token((await makeIdentity(platform(), platform().root)).uid);
    const { roles } = await platform().read("ListRoles", { pageSize: 200 }, { as });
    expect(roles).toHaveLength(builtInRoles.size);
    const role = await platform().read("GetRole", { uid: await builtInRole(platform(), "viewer") }, { as });
    expect(role.name).toBe("viewer");
    expect((await platform().read("ListRoles", { name: "viewer" }, { as })).totalCount).toBe("1");
  });

  test("nobody changes or deletes a built-in one", async () => {
    const uid = await builtInRole(platform(), "viewer");
    const before = await platform().read("GetRole", { uid });
    const owner = await makeMember(platform(), platform().root, "owner");
    for (const as of [platform().admin, owner.token]) {
      await platform().refused("DeleteRole", { uid }, "PERMISSION_DENIED", { as });
      await platform().refused("UpdateRole", { role: { uid, description: "mine" } }, "PERMISSION_DENIED", { as });
    }
    expect(await platform().read("GetRole", { uid })).toEqual(before);
  });

  test.each(protocols)("create, get, update, delete over %s", async (over) => {
    const parent = platform().root;
    const role = { name: "tag mover", description: "Moves tags", capabilities: ["CAP_TAG_CREATE", "CAP_TAG_LIST"] };
    const created = await platform().ok("CreateRole", { parent, role }, { over });
    expect(created).toMatchObject({
      ...role,
      uid: expect.stringMatching(new RegExp(`^${parent}/[0-9a-f]{16}$`)),
      createTime: expect.any(String),
      updateTime: created.createTime,
      etag: expect.any(String),
    });
    const { uid } = created;
    expect(await platform().read("GetRole", { uid })).toEqual(created);
    const change = { role: { uid, capabilities: ["CAP_TAG_LIST"] } };
    const updated = await platform().ok("UpdateRole", change, { over });
    expect(updated).toMatchObject({ name: "tag mover", description: "Moves tags", capabilities: ["CAP_TAG_LIST"] });
    await platform().ok("DeleteRole", { uid }, { over });
    expect(detailOf(await platform().refused("GetRole", { uid }, "NOT_FOUND"))).toEqual({
      resourceType: "iam.platform.internal/Role",
      resourceName: uid,
    });
    await platform().refused("DeleteRole", { uid }, "NOT_FOUND");
  });

  test("needs a capability that exists", async () => {
    const parent = platform().root;
    const request = (capabilities: unknown) => ({ parent, role: { name: "x", capabilities } });
    expect(fieldsOf(await platform().refused("CreateRole", request([]), "INVALID_ARGUMENT"))).toEqual(["capabilities"]);
    for (const wrong of [0, 99999])
      expect(fieldsOf(await platform().refused("CreateRole", request([wrong]), "INVALID_ARGUMENT"))).toEqual([
        "capabilities[0]",
      ]);
    const unknownName = await platform().call("CreateRole", request(["CAP_NO_SUCH"]));
    expect(unknownName).toMatchObject({ ok: false, status: { code: 3 } });
    const { uid } = await makeRole(platform(), parent, ["CAP_REPO_LIST"]);
    const emptied = { role: { uid }, updateMask: "capabilities" };
    expect(fieldsOf(await platform().refused("UpdateRole", emptied, "INVALID_ARGUMENT"))).toEqual(["capabilities"]);
  });

  test("nobody makes a role that holds more than they do, where they do", async () => {
    const { uid: folder } = await makeGroup(platform());
    const may = ["CAP_IAM_ROLES_CREATE", "CAP_IAM_ROLES_UPDATE", "CAP_REPO_LIST"];
    const { token: as } = await makeMember(platform(), platform().root, may, folder);
    const role = { name: "x", capabilities: ["CAP_REPO_LIST", "CAP_REPO_DELETE"] };
    await platform().refused("CreateRole", { parent: folder, role }, "PERMISSION_DENIED", { as });
    await platform().refused(
      "CreateRole",
      { parent: platform().root, role: { name: "x", capabilities: ["CAP_REPO_LIST"] } },
      "PERMISSION_DENIED",
      { as },
    );
    const own = await platform().ok(
      "CreateRole",
      { parent: folder, role: { name: "x", capabilities: ["CAP_REPO_LIST"] } },
      { as },
    );
    const more = { role: { uid: own.uid, capabilities: ["CAP_REPO_LIST", "CAP_REPO_DELETE"] } };
    await platform().refused("UpdateRole", more, "PERMISSION_DENIED", { as });
    expect((await platform().read("GetRole", { uid: own.uid })).capabilities).toEqual(["CAP_REPO_LIST"]);
  });

  test.each(["REST", "Connect"])("take capabilities in both spellings over %s, each once", async (over) => {
    const send = async (verb: "Create" | "Update", uid: string, capabilities: Json) => {
      const role = { name: "reader", capabilities };
      const [target, init] =
        over === "Connect"
          ? [
              `/platform.iam.v2.RolesService/${verb}Role`,
              { body: verb === "Create" ? { parent: uid, role } : { role: { ...role, uid } } },
            ]
          : [`/iam/v2/roles/${uid}`, { method: verb === "Create" ? "POST" : "PATCH", body: role }];
      const response = await platform().fetch(target, { method: "POST", ...init, body: JSON.stringify(init.body) });
      expect(response.status).toBe(200);
      return (await response.json()) as Json;
    };
    const given = ["repo.list", "CAP_TAG_LIST", "CAP_REPO_LIST", "tag.list", 1605];
    const created = await send("Create", platform().root, given);
    expect(created.capabilities).toEqual(["CAP_REPO_LIST", "CAP_TAG_LIST"]);
    expect(await platform().read("GetRole", { uid: created.uid })).toEqual(created);
    const updated = await send("Update", created.uid, ["groups.list", "groups.list"]);
    expect(updated.capabilities).toEqual(["CAP_IAM_GROUPS_LIST"]);
    const again = await send("Update", created.uid, ["CAP_IAM_GROUPS_LIST", "groups.list"]);
    expect(again).toEqual(updated);
  });

  test("refusals name capabilities as roles take them", async () => {
    const { uid: parent } = await makeGroup(platform());
    const { token: as } = await makeMember(platform(), parent, ["CAP_IAM_ROLES_CREATE"]);
    const denied = await platform().refused("GetGroup", { uid: parent }, "PERMISSION_DENIED", { as });
    expect(denied.message).toBe(`Permission denied: CAP_IAM_GROUPS_LIST needed at ${JSON.stringify(parent)}`);
    const capabilities = ["CAP_REPO_LIST", "CAP_TAG_LIST"];
    const role = { parent, role: { name: "more", capabilities } };
    const more = await platform().refused("CreateRole", role, "PERMISSION_DENIED", { as });
    expect(more.message).toContain("CAP_REPO_LIST, CAP_TAG_LIST");
    await makeRole(platform(), parent, more.message.match(/CAP_\w+/g) ?? []);
  });

  test("internal capabilities go only with `internal`", async () => {
    const parent = platform().root;
    const alone = { parent, role: { name: "x", capabilities: ["CAP_REPO_INTERNAL_ADMIN"] } };
    expect(fieldsOf(await platform().refused("CreateRole", alone, "INVALID_ARGUMENT"))).toEqual(["capabilities"]);
    await makeRole(platform(), parent, ["CAP_REPO_INTERNAL_ADMIN", "CAP_INTERNAL"]);
    const { token: as } = await makeMember(platform(), parent, "owner");
    const both = { parent, role: { name: "x", capabilities: ["CAP_REPO_INTERNAL_ADMIN", "CAP_INTERNAL"] } };
    await platform().refused("CreateRole", both, "PERMISSION_DENIED", { as });
  });

  test("a role that an invite promises cannot be deleted, in its group or below", async () => {
    const { uid: group } = await makeGroup(platform());
    const { uid: below } = await makeGroup(platform(), group);
    const [role, other] = [
      await makeRole(platform(), group, ["CAP_REPO_LIST"]),
      await makeRole(platform(), group, ["CAP_REPO_LIST"]),
    ];
    for (const parent of [group, below]) {
      const groupInvite = { roleUid: role.uid, ttl: "3600s" };
      const invite = await platform().ok("CreateGroupInvite", { parent, groupInvite });
      const status = await platform().refused("DeleteRole", { uid: role.uid }, "FAILED_PRECONDITION");
      const description = "cannot delete a role that a group invite promises";
      expect(violationsOf(status)).toEqual([{ type: "RESOURCE_IN_USE", subject: role.uid, description }]);
      await platform().ok("DeleteGroupInvite", { uid: invite.uid });
    }
    const groupInvite = { roleUid: role.uid, ttl: "3600s" };
    await platform().ok("CreateGroupInvite", { parent: group, groupInvite });
    await platform().ok("DeleteRole", { uid: other.uid });
  });

  test("a bound role cannot be deleted", async () => {
    const role = await makeRole(platform(), platform().root, ["CAP_REPO_LIST"]);
    const identity = await makeIdentity(platform(), platform().root);
    const binding = await bind(platform(), platform().root, identity.uid, role.uid);
    const status = await platform().refused("DeleteRole", { uid: role.uid }, "FAILED_PRECONDITION");
    expect(violationsOf(status)).toEqual([
      { type: "RESOURCE_IN_USE", subject: role.uid, description: expect.stringMatching(/./) },
    ]);
    await platform().ok("DeleteRoleBinding", { uid: binding.uid });
    await platform().ok("DeleteRole", { uid: role.uid });
  });

  test("an update of a role counts on the next call, for everybody bound to it", async () => {
    const repo = await makeRepo(platform(), platform().root);
    const { token: as, roleUid } = await makeMember(platform(), platform().root, ["CAP_REPO_LIST"]);
    await platform().read("GetRepo", { uid: repo.uid }, { as });
    await platform().ok("UpdateRole", { role: { uid: roleUid, capabilities: ["CAP_TAG_LIST"] } });
    await platform().refused("GetRepo", { uid: repo.uid }, "PERMISSION_DENIED", { as });
    await platform().ok("UpdateRole", { role: { uid: roleUid, capabilities: ["CAP_REPO_LIST"] } });
    await platform().read("GetRepo", { uid: repo.uid }, { as });
  });

  test("custom roles are seen where `roles.list` is held", async () => {
    const { uid: folder } = await makeGroup(platform());
    const inside = await makeRole(platform(), folder, ["CAP_REPO_LIST"], { name: freshName() });
    const outside = await makeRole(platform(), platform().root, ["CAP_REPO_LIST"], { name: freshName() });
    const { token: as } = await makeMember(platform(), platform().root, ["CAP_IAM_ROLES_LIST"], folder);
    expect(await platform().read("GetRole", { uid: inside.uid }, { as })).toEqual(inside);
    await platform().refused("GetRole", { uid: outside.uid }, "PERMISSION_DENIED", { as });
    const { roles } = await platform().read("ListRoles", { uidp: { descendantsOf: platform().root } }, { as });
    expect(roles.map(({ uid }: { uid: string }) => uid).filter((uid: string) => !uid.startsWith(`${folder}/`))).toEqual(
      [],
    );
    expect(roles).toContainEqual(inside);
  });

  test("uids that are none", async () => {
    expect(fieldsOf(await platform().refused("GetRole", { uid: "" }, "INVALID_ARGUMENT"))).toEqual(["uid"]);
    await platform().refused("GetRole", { uid: "viewer" }, "NOT_FOUND");
    await platform().refused("GetRole", { uid: freshUid() }, "NOT_FOUND");
  });
});
