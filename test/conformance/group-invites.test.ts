/** Group invites through the port: made, shown once, accepted, and refused with one answer. */
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { GroupInvitesService } from "../../gen/platform/iam/v2/group_invites_pb.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type Answer, failureOf, onEveryServer } from "./iam-server.ts";

const viewer = builtInRoleUid("viewer");
const owner = builtInRoleUid("owner");
const week = "604800s";
const inviting = ["CAP_IAM_GROUP_INVITES_CREATE", "CAP_IAM_ROLE_BINDINGS_CREATE"];

onEveryServer("group invites", (server) => {
  const invite = (fields: object = {}, group = server().root) =>
    server().ok(`POST /iam/v2/groupInvites/${group}`, { roleUid: viewer, ttl: week, ...fields });
  const accept = (token: string, code: string) => server().rest(token, "POST /iam/v2/groupInvites:accept", { code });
  /** Removes a role that an invite names, which the API refuses: older databases have such invites. */
  const removeRole = (uid: string) => server().database.sql(`delete from roles where uid = '${uid}'`);
  const subgroup = async (name: string) => (await server().ok(`POST /iam/v2/groups/${server().root}`, { name })).uid;

  describe("made", () => {
    it("shows its code once and stores it nowhere", async () => {
      const { root, ok, grpc, admin, database } = server();
      const made = await invite({ email: "alice@example.com", singleUse: true });
      const { code, ...shown } = made;
      const { grp, kid, sec } = JSON.parse(Buffer.from(code, "base64").toString("utf8"));
      expect([grp, kid]).toEqual([root, made.keyId]);
      expect(made).toMatchObject({ roleUid: viewer, email: "alice@example.com", singleUse: true });
      expect(made.role).toMatchObject({ uid: viewer, name: "viewer", description: "Viewer Role (built-in)" });
      expect(made.role.capabilities).toContain("CAP_IAM_GROUPS_LIST");
      expect(Date.parse(made.expirationTime) - Date.parse(made.createTime)).toBe(604_800_000);
      expect(made).not.toHaveProperty("ttl");

      const got = await ok(`GET /iam/v2/groupInvites/${made.uid}`);
      expect(got).toEqual({ ...shown, code: "" });
      const listed = await grpc(GroupInvitesService, admin).listGroupInvites({ keyId: kid });
      expect(listed.groupInvites.map(({ uid, code }) => [uid, code])).toEqual([[made.uid, ""]]);
      const [row] = await database.sql("select packed from group_invites");
      const stored = Buffer.from(row!.packed as Uint8Array).toString("latin1");
      expect(stored).toContain(kid);
      for (const secret of [code, sec]) expect(stored).not.toContain(secret);
    });

    const refused: [string, object, string][] = [
      ["no role", { roleUid: "" }, "role_uid"],
      ["an unknown role", { roleUid: "0".repeat(40) }, "role_uid"],
      ["no ttl", { ttl: undefined }, "ttl"],
      ["a ttl of nothing", { ttl: "0s" }, "ttl"],
      ["a ttl in the past", { ttl: "-1s" }, "ttl"],
      ["a ttl of more than a year", { ttl: "31536001s" }, "ttl"],
      ["an address with a name", { email: "Alice <alice@example.com>" }, "email"],
      ["an address without domain", { email: "alice" }, "email"],
      ["two addresses", { email: "a@example.com, b@example.com" }, "email"],
    ];
    it.each(refused)("not with %s", async (_, fields, field) => {
      const { rest, admin, root } = server();
      const body = { roleUid: viewer, ttl: week, ...fields };
      const answer = await rest(admin, `POST /iam/v2/groupInvites/${root}`, body);
      expect(answer.status).toBe(400);
      expect(answer.body.details[1].fieldViolations.map((v: { field: string }) => v.field)).toEqual([field]);
    });

    it("not below a group that does not exist, nor with a role of another branch", async () => {
      const { ok, rest, admin, root } = server();
      const missing = await rest(admin, `POST /iam/v2/groupInvites/${root}/0000000000000000`, {
        roleUid: viewer,
        ttl: week,
      });
      expect(missing.status).toBe(404);
      const [left, right] = [await subgroup("left"), await subgroup("right")];
      const role = await ok(`POST /iam/v2/roles/${left}`, { name: "local", capabilities: ["CAP_REPO_LIST"] });
      const foreign = await rest(admin, `POST /iam/v2/groupInvites/${right}`, { roleUid: role.uid, ttl: week });
      expect(foreign.body.message).toBe("Invalid argument: role_uid: no role that can be bound in this group");
      await invite({ roleUid: role.uid }, left);
    });

    it("not for more than its maker holds, and never for the administrator's role", async () => {
      const { root, admin, rest, grpc, holderOf } = server();
      const maker = await holderOf(root, ...inviting, "CAP_REPO_LIST");
      const denied = await rest(maker.token, `POST /iam/v2/groupInvites/${root}`, { roleUid: owner, ttl: week });
      expect([denied.status, denied.body.code]).toEqual([403, 7]);
      const { uid } = await invite({ roleUid: owner });
      const update = grpc(GroupInvitesService, maker.token).updateGroupInvite({
        groupInvite: { uid, singleUse: true },
      });
      expect((await failureOf(update)).code).toBe(Code.PermissionDenied);
      const administrator = { roleUid: builtInRoleUid("platform.admin"), ttl: week };
      expect((await rest(admin, `POST /iam/v2/groupInvites/${root}`, administrator)).status).toBe(403);
    });

    it("not by someone who may only bind, or only invite", async () => {
      const { root, rest, holderOf } = server();
      for (const capability of inviting) {
        const { token } = await holderOf(root, capability);
        const answer = await rest(token, `POST /iam/v2/groupInvites/${root}`, { roleUid: viewer, ttl: week });
        expect(answer.status).toBe(403);
      }
    });

    it("not in a call that only validates", async () => {
      const { root, ok } = server();
      const made = await ok(`POST /iam/v2/groupInvites/${root}?validateOnly=true`, { roleUid: viewer, ttl: week });
      expect(made.code).not.toBe("");
      expect((await ok("GET /iam/v2/groupInvites")).totalCount).toBe("0");
    });
  });

  describe("listed", () => {
    it("newest first, by key id, in the caller's scope", async () => {
      const { ok, rest, holderOf } = server();
      const group = await subgroup("listed");
      const made = [];
      for (let i = 0; i < 5; i++) made.push(await invite({}, i < 2 ? group : server().root));
      const newestFirst = made
        .map(({ uid, createTime }) => [createTime, uid])
        .sort()
        .reverse()
        .map(([, uid]) => uid);
      const uids = ({ groupInvites }: { groupInvites: { uid: string }[] }) => groupInvites.map(({ uid }) => uid);
      expect(uids(await ok("GET /iam/v2/groupInvites"))).toEqual(newestFirst);
      const first = await ok("GET /iam/v2/groupInvites?page_size=2&order_by=created_at%20desc");
      const second = await ok(`GET /iam/v2/groupInvites?skip=1&page_token=${first.nextPageToken}`);
      expect([...uids(first), ...uids(second)]).toEqual(newestFirst.toSpliced(2, 1));
      expect([first.totalCount, second.totalCount, second.skipped]).toEqual(["5", "5", 1]);
      expect(uids(await ok(`GET /iam/v2/groupInvites?key_id=${made[3].keyId}`))).toEqual([made[3].uid]);
      const local = await holderOf(group, "CAP_IAM_GROUP_INVITES_LIST");
      const { body } = await rest(local.token, "GET /iam/v2/groupInvites");
      expect([uids(body).sort(), body.totalCount]).toEqual([[made[0].uid, made[1].uid].sort(), "2"]);
    });

    it("without a role that is gone", async () => {
      const { ok, root } = server();
      const role = await ok(`POST /iam/v2/roles/${root}`, { name: "short-lived", capabilities: ["CAP_REPO_LIST"] });
      const { uid } = await invite({ roleUid: role.uid });
      await removeRole(role.uid);
      const got = await ok(`GET /iam/v2/groupInvites/${uid}`);
      expect(got.roleUid).toBe(role.uid);
      expect(got).not.toHaveProperty("role");
    });
  });

  describe("changed", () => {
    it("in its address, its use and its expiry, and in nothing else", async () => {
      const { ok, rest, admin } = server();
      const { code, ...made } = await invite({ email: "alice@example.com" });
      const path = `PATCH /iam/v2/groupInvites/${made.uid}`;
      const used = await ok(path, { email: "", singleUse: true });
      expect(used).toMatchObject({ email: "", singleUse: true, expirationTime: made.expirationTime });
      const restarted = await ok(path, { ttl: "60s" });
      expect(Date.parse(restarted.expirationTime) - Date.parse(restarted.updateTime)).toBe(60_000);
      const ignored = { keyId: "x", code: "x", expirationTime: "2099-01-01T00:00:00Z", role: { name: "x" } };
      expect(await ok(`${path}?updateMask=keyId,code,expirationTime,role`, ignored)).toEqual(restarted);
      const role = await rest(admin, path, { roleUid: owner });
      expect(role.body.message).toBe("Invalid argument: role_uid: role_uid cannot change");
      const cleared = await rest(admin, `${path}?updateMask=*`, { singleUse: false });
      expect(cleared.body.message).toContain("ttl");
      const replaced = await ok(`${path}?updateMask=*`, { ttl: week });
      expect(replaced).toMatchObject({ singleUse: false, email: "", keyId: made.keyId, code: "" });
      expect((await accept((await server().stranger(server().root)).token, code)).status).toBe(200);
    });

    it("not when its etag is stale, and deleted once", async () => {
      const { ok, rest, grpc, admin, root } = server();
      const { uid, etag } = await invite();
      await ok(`PATCH /iam/v2/groupInvites/${uid}`, { singleUse: true });
      const client = grpc(GroupInvitesService, admin);
      expect((await failureOf(client.deleteGroupInvite({ uid, etag }))).code).toBe(Code.Aborted);
      await client.deleteGroupInvite({ uid });
      for (const call of [`GET /iam/v2/groupInvites/${uid}`, `DELETE /iam/v2/groupInvites/${uid}`])
        expect((await rest(admin, call)).status).toBe(404);
      expect((await rest((await server().stranger(root)).token, `GET /iam/v2/groupInvites/${uid}`)).status).toBe(403);
    });

    it("goes with its group", async () => {
      const { ok } = server();
      const group = await subgroup("gone");
      await invite({}, group);
      await ok(`DELETE /iam/v2/groups/${group}`);
      expect((await ok("GET /iam/v2/groupInvites")).totalCount).toBe("0");
    });
  });

  describe("accepted", () => {
    it("binds the caller to the role in the group", async () => {
      const { root, rest, grpc, stranger } = server();
      const { code } = await invite();
      for (const protocol of ["REST", "gRPC"]) {
        const joiner = await stranger(root);
        expect((await rest(joiner.token, `GET /iam/v2/groups/${root}`)).status).toBe(403);
        const binding =
          protocol === "REST"
            ? (await accept(joiner.token, code)).body
            : await grpc(GroupInvitesService, joiner.token).acceptGroupInvite({ code });
        expect(binding.identity.uid).toBe(joiner.uid);
        expect([binding.group.uid, binding.role.uid]).toEqual([root, viewer]);
        expect((await rest(joiner.token, `GET /iam/v2/groups/${root}`)).status).toBe(200);
      }
    });

    it("again by the same identity gives the binding that it has", async () => {
      const { root, ok, stranger } = server();
      const { code } = await invite();
      const joiner = await stranger(root);
      const [first, second] = [await accept(joiner.token, code), await accept(joiner.token, code)];
      const { identity } = await ok(`GET /iam/v2/roleBindings/${first.body.uid}`);
      const hidden = { uid: joiner.uid, name: "", description: "", subject: "", issuer: "", email: "" };
      expect(first.body.identity).toEqual(hidden); // until this call it might read no identity, not even its own
      expect(second.body).toEqual({ ...first.body, identity });
      expect((await ok(`GET /iam/v2/roleBindings?identity=${joiner.uid}`)).totalCount).toBe("1");
    });

    it("stays accepted when its maker or the invite is gone, and stops with its binding", async () => {
      const { root, ok, rest, holderOf, stranger } = server();
      const maker = await holderOf(root, ...inviting, "CAP_REPO_LIST");
      const role = await ok(`POST /iam/v2/roles/${root}`, { name: "reader", capabilities: ["CAP_REPO_LIST"] });
      const { body } = await rest(maker.token, `POST /iam/v2/groupInvites/${root}`, { roleUid: role.uid, ttl: week });
      await ok(`DELETE /iam/v2/identities/${maker.uid}`);
      const joiner = await stranger(root);
      const binding = (await accept(joiner.token, body.code)).body;
      await ok(`DELETE /iam/v2/groupInvites/${body.uid}`);
      const { uid } = await ok(`POST /registry/v2/repos/${root}`, { name: "repo" });
      expect((await rest(joiner.token, `GET /registry/v2/repos/${uid}`)).status).toBe(200);
      await ok(`DELETE /iam/v2/roleBindings/${binding.uid}`);
      expect((await rest(joiner.token, `GET /registry/v2/repos/${uid}`)).status).toBe(403);
    });

    it("leaves everything as it is when the call only validates", async () => {
      const { root, ok, rest, stranger } = server();
      const { code } = await invite({ singleUse: true });
      const joiner = await stranger(root);
      const dry = await rest(joiner.token, "POST /iam/v2/groupInvites:accept", { code, validateOnly: true });
      expect(dry.body.identity.uid).toBe(joiner.uid);
      expect((await ok(`GET /iam/v2/roleBindings?identity=${joiner.uid}`)).totalCount).toBe("0");
      expect((await accept(joiner.token, code)).status).toBe(200);
    });

    it("by one of 64 clients at once when it is for single use", async () => {
      const { root, ok, stranger } = server();
      const { uid, code } = await invite({ singleUse: true });
      const clients = [];
      for (let i = 0; i < 64; i++) clients.push(await stranger(root));
      const answers = await Promise.all(clients.map(({ token }) => accept(token, code)));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array.from({ length: 63 }, () => 404)]);
      const winner = answers.find(({ status }) => status === 200);
      const bindings = (await ok(`GET /iam/v2/roleBindings?role=${viewer}`)).roleBindings;
      expect(bindings.map((binding: { uid: string }) => binding.uid)).toEqual([winner!.body.uid]);
      expect((await ok(`GET /iam/v2/groupInvites?uidp.ids=${uid}`)).totalCount).toBe("0");
    });

    it("by each of 8 clients, twice at once, when it is not", async () => {
      const { root, ok, stranger } = server();
      const { code } = await invite();
      const clients = [];
      for (let i = 0; i < 8; i++) clients.push(await stranger(root));
      const answers = await Promise.all([...clients, ...clients].map(({ token }) => accept(token, code)));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
      expect((await ok(`GET /iam/v2/roleBindings?role=${viewer}`)).totalCount).toBe("8");
    });
  });

  it("answers one and the same for every code that cannot be accepted", async () => {
    const { root, admin, ok, stranger, rest } = server();
    const joiner = await stranger(root);
    const confined = await stranger(await subgroup("elsewhere"));
    const right = await invite();
    const expired = await invite({ ttl: "0.000000001s" });
    const used = await invite({ singleUse: true });
    await accept((await stranger(root)).token, used.code);
    const deleted = await invite();
    await ok(`DELETE /iam/v2/groupInvites/${deleted.uid}`);
    const role = await ok(`POST /iam/v2/roles/${root}`, { name: "gone", capabilities: ["CAP_REPO_LIST"] });
    const roleless = await invite({ roleUid: role.uid });
    await removeRole(role.uid);
    const addressed = await invite({ email: "alice@example.com" });
    const content = JSON.parse(Buffer.from(right.code, "base64").toString("utf8"));
    const forged = (change: object) => Buffer.from(JSON.stringify({ ...content, ...change })).toString("base64");
    const calls: Promise<Answer>[] = [
      accept(joiner.token, "no code"),
      accept(joiner.token, forged({ sec: "x" })),
      accept(joiner.token, forged({ kid: "0".repeat(16) })),
      accept(joiner.token, forged({ kid: "\0" })),
      accept(joiner.token, forged({ grp: `${root}/0123456789abcdef` })),
      accept(joiner.token, expired.code),
      accept(joiner.token, used.code),
      accept(joiner.token, deleted.code),
      accept(joiner.token, roleless.code),
      accept(joiner.token, addressed.code),
      accept(admin, addressed.code),
      accept(confined.token, right.code),
    ];
    const answers = await Promise.all(calls);
    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect(body).toEqual(answers[0]!.body);
    }
    expect(answers[0]!.body.message).toBe("Not found: no invite that you can accept has this code");
    expect(JSON.stringify(answers)).not.toContain(right.keyId);
    expect((await rest("", "POST /iam/v2/groupInvites:accept", { code: right.code })).status).toBe(401);
    expect((await ok("GET /iam/v2/roleBindings")).totalCount).toBe("2"); // the administrator's, and that of `used`
  });

  it("needs a code", async () => {
    const { admin, grpc } = server();
    const failure = await failureOf(grpc(GroupInvitesService, admin).acceptGroupInvite({}));
    expect(failure.code).toBe(Code.InvalidArgument);
    expect(failure.findDetails(BadRequestSchema)[0]?.fieldViolations.map(({ field }) => field)).toEqual(["code"]);
  });
});
