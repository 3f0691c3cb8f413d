/**
 * Two servers on one database: what calls at both of them rely on holds, and calls that have nothing to do with each
 * other do not conflict.
 */
import { Code } from "@connectrpc/connect";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { type Json, methodNamed } from "./contract.ts";
import {
  builtInRole,
  digestOf,
  freshName,
  makeAdministrator,
  makeGroup,
  makeIdentity,
  makeRepo,
  makeRole,
  recoverAdministrator,
} from "./fixtures.ts";
import type { Outcome } from "./outcome.ts";
import { onEveryServer } from "./platform.ts";
import { callOverRest } from "./rest-client.ts";

const rounds = 15;

onEveryServer("two servers on one database", (platform) => {
  let second: RunningServer;
  const errors: string[] = [];
  let turn = 0;

  beforeAll(async () => {
    const log = pino({ level: "error", base: null }, { write: (line: string) => void errors.push(line) });
    const flags = { listen: "127.0.0.1:0", adminListen: "off", database: platform().databaseUrl, logLevel: "error" };
    second = await startServer(readConfig({ flags, env: {}, warn: () => {} }), log);
  });
  afterAll(async () => {
    await second.stop();
    expect(errors).toEqual([]);
  });

  /** Makes a call at one server and the next at the other. */
  function call(method: string, request: Json, as = platform().admin): Promise<Outcome> {
    if (turn++ % 2 === 0) return platform().call(method, request, { as });
    return callOverRest(second.baseUrl, methodNamed(method), request, { authorization: `Bearer ${as}` });
  }

  const codesOf = (outcomes: readonly Outcome[]) =>
    outcomes.map((outcome) => (outcome.ok ? "OK" : Code[outcome.status.code]));
  const totalOf = async (method: string, uid: string) =>
    Number((await platform().ok(method, { uidp: { descendantsOf: uid } })).totalCount);

  test("200 creates of different names in one group all succeed", async () => {
    const { uid } = await makeGroup(platform());
    const creates = Array.from({ length: 200 }, (_, i) => call("CreateRepo", { parent: uid, repo: { name: `r${i}` } }));
    expect(new Set(codesOf(await Promise.all(creates)))).toEqual(new Set(["OK"]));
    expect(await totalOf("ListRepos", uid)).toBe(200);
  });

  test("one of 64 creates of one name succeeds, and the others name it", async () => {
    const { uid } = await makeGroup(platform());
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, () => call("CreateRepo", { parent: uid, repo: { name: "same" } })),
    );
    const made = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.message.uid] : []));
    expect(made).toHaveLength(1);
    for (const outcome of outcomes)
      if (!outcome.ok)
        expect([Code[outcome.status.code], JSON.stringify(outcome.status)]).toEqual([
          "AlreadyExists",
          expect.stringContaining(made[0]),
        ]);
  });

  test("changes of one resource at once all take effect", async () => {
    const { uid: group } = await makeGroup(platform());
    const { uid } = await makeRepo(platform(), group);
    const changes = Array.from({ length: 40 }, (_, i) =>
      call("UpdateRepo", { repo: { uid, description: `change ${i}` }, updateMask: "description" }),
    );
    expect(new Set(codesOf(await Promise.all(changes)))).toEqual(new Set(["OK"]));
  });

  test("no group is deleted while something is created in it", async () => {
    for (let round = 0; round < rounds; round++) {
      const { uid } = await makeGroup(platform());
      const creates = ["CreateRepo", "CreateGroup", "CreateRole", "CreateIdentity"].map((method) =>
        call(method, { parent: uid, ...bodyOf(method) }),
      );
      const [deletion, ...created] = await Promise.all([call("DeleteGroup", { uid }), ...creates]);
      const count = created.filter(({ ok }) => ok).length;
      if (deletion.ok)
        expect(codesOf(created)).toEqual(created.map(() => expect.stringMatching(/NotFound|PermissionDenied/)));
      else expect([Code[deletion.status.code], count > 0]).toEqual(["FailedPrecondition", true]);
      const totals = ["ListRepos", "ListGroups", "ListRoles", "ListIdentities"].map((method) => totalOf(method, uid));
      expect((await Promise.all(totals)).reduce((sum, total) => sum + total)).toBe(count);
    }
  });

  test("no tag is left of a repo that is deleted with its tags", async () => {
    const { uid: group } = await makeGroup(platform());
    for (let round = 0; round < rounds; round++) {
      const { uid } = await makeRepo(platform(), group);
      const tags = Array.from({ length: 4 }, (_, i) =>
        call("CreateTag", { parent: uid, tag: { name: `t${i}`, digest: digestOf(i) } }),
      );
      const [deletion] = await Promise.all([call("DeleteRepo", { uid, force: true }), ...tags]);
      expect(deletion.ok).toBe(true);
      expect(await totalOf("ListTags", group)).toBe(0);
    }
  });

  test("no role is deleted while it is bound", async () => {
    const { uid: group } = await makeGroup(platform());
    for (let round = 0; round < rounds; round++) {
      const role = await makeRole(platform(), group, ["CAP_REPO_LIST"]);
      const identity = await makeIdentity(platform(), group);
      const roleBinding = { identityUid: identity.uid, roleUid: role.uid };
      const [deletion, binding] = await Promise.all([
        call("DeleteRole", { uid: role.uid }),
        call("CreateRoleBinding", { parent: group, roleBinding }),
      ]);
      expect([deletion.ok, binding.ok].filter(Boolean)).toHaveLength(1);
    }
  });

  test("no binding is left of an identity that is deleted", async () => {
    const { uid: group } = await makeGroup(platform());
    const roleUid = await builtInRole(platform(), "viewer");
    for (let round = 0; round < rounds; round++) {
      const { uid } = await makeIdentity(platform(), group);
      const [deletion] = await Promise.all([
        call("DeleteIdentity", { uid }),
        call("CreateRoleBinding", { parent: group, roleBinding: { identityUid: uid, roleUid } }),
      ]);
      expect(deletion.ok).toBe(true);
      const { totalCount } = await platform().ok("ListRoleBindings", { identity: uid });
      expect(totalCount).toBe("0");
    }
  });

  test("one of two administrators who remove each other stays", async () => {
    const { administrator, admin } = platform();
    for (let round = 0; round < rounds; round++) {
      const other = await makeAdministrator(platform());
      const { roleBindings } = await platform().ok("ListRoleBindings", {
        identity: administrator,
        role: other.roleUid,
      });
      const outcomes = await Promise.all([
        call("DeleteIdentity", { uid: other.uid }, admin),
        round % 2 === 0
          ? call("DeleteIdentity", { uid: administrator }, other.token)
          : call("DeleteRoleBinding", { uid: roleBindings[0].uid }, other.token),
      ]);
      expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
      for (const code of codesOf(outcomes))
        expect(code).toMatch(/^(OK|FailedPrecondition|PermissionDenied|Unauthenticated)$/);
      await recoverAdministrator(platform());
      if (!outcomes[0]!.ok) await platform().ok("DeleteIdentity", { uid: other.uid });
    }
  });

  test("an invite for single use is accepted by one of 8", async () => {
    const { uid: group } = await makeGroup(platform());
    const roleUid = await builtInRole(platform(), "viewer");
    for (let round = 0; round < 3; round++) {
      const groupInvite = { roleUid, ttl: "3600s", singleUse: true };
      const { code } = await platform().ok("CreateGroupInvite", { parent: group, groupInvite });
      const strangers = await Promise.all(
        Array.from({ length: 8 }, async () => platform().token((await makeIdentity(platform(), platform().root)).uid)),
      );
      const outcomes = await Promise.all(strangers.map((token) => call("AcceptGroupInvite", { code }, token)));
      expect(codesOf(outcomes).sort()).toEqual([...Array(7).fill("NotFound"), "OK"]);
    }
  });

  test("a verified name is given to one of 6 organisations", async () => {
    const name = freshName("verified");
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () =>
        call("CreateGroup", { group: { name, verified: true, kind: "ORG_KIND_CUSTOMER" } }),
      ),
    );
    expect(codesOf(outcomes).sort()).toEqual([...Array(5).fill("AlreadyExists"), "OK"]);
  });
});

function bodyOf(method: string): Json {
  const name = freshName();
  switch (method) {
    case "CreateRepo":
      return { repo: { name } };
    case "CreateGroup":
      return { group: { name } };
    case "CreateRole":
      return { role: { name, capabilities: ["CAP_REPO_LIST"] } };
    default:
      return { identity: { name, claimMatch: { issuer: "https://issuer.example.com", subject: name } } };
  }
}
