/** Who can do what: explanations and lists of grants, held against what calls really get. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RoleBindingSchema } from "../../gen/platform/iam/v2/role_bindings_pb.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { roleBindings } from "../../src/services/iam/role-bindings.ts";
import { Random } from "../codec/random.ts";
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
  makeUser,
} from "./fixtures.ts";
import { detailOf, fieldsOf } from "./outcome.ts";
import { onEveryServer, type Platform } from "./platform.ts";

/** A capability, and a call that needs it and nothing else at a group. */
const probes: readonly (readonly [capability: string, method: string, request: (scope: string) => Json])[] = [
  ["groups.list", "GetGroup", (uid) => ({ uid })],
  ["role_bindings.list", "ListAccess", (scope) => ({ scope })],
  ["groups.update", "UpdateGroup", (uid) => ({ group: { uid, description: freshName() }, validateOnly: true })],
  ["repo.create", "CreateRepo", (parent) => ({ parent, repo: { name: freshName() }, validateOnly: true })],
];

/** Whether a token passes authentication and authorization. */
async function isLetIn(platform: Platform, method: string, request: Json, as: string): Promise<boolean> {
  const outcome = await platform.call(method, request, { as });
  if (outcome.ok) return true;
  expect(["PERMISSION_DENIED", "UNAUTHENTICATED"], JSON.stringify(outcome.status)).toContain(
    { 7: "PERMISSION_DENIED", 16: "UNAUTHENTICATED" }[outcome.status.code as 7 | 16],
  );
  return false;
}

onEveryServer("who can do what", (platform) => {
  const explain = (identity: string, capability: string, scope: string, as = platform().admin) =>
    platform().read("Explain", { identity, capability, scope }, { as });
  const listAll = async (request: Json, as = platform().admin) => {
    const grants: Json[] = [];
    for (let pageToken = ""; ; ) {
      const page = await platform().read("ListAccess", { ...request, pageToken }, { as });
      grants.push(...page.grants);
      expect(page.nextPageToken === undefined || page.grants.length > 0).toBe(true);
      if (page.nextPageToken === undefined) return { grants, totalCount: Number(page.totalCount) };
      pageToken = page.nextPageToken;
    }
  };

  test("an explanation is the path of grants, from what makes them down to the scope", async () => {
    const folder = await makeGroup(platform());
    const inner = await makeGroup(platform(), folder.uid);
    const repo = await makeRepo(platform(), inner.uid);
    const bot = await makeIdentity(platform(), platform().root);
    const role = await makeRole(platform(), folder.uid, ["CAP_REPO_LIST"]);
    const binding = await bind(platform(), folder.uid, bot.uid, role.uid);
    const answer = await explain(bot.uid, "repo.list", repo.uid);
    expect(answer).toEqual({
      verdict: "VERDICT_ALLOWED",
      identity: { uid: bot.uid, name: bot.name, email: "" },
      capability: "CAP_REPO_LIST",
      groups: [
        { uid: platform().root, name: "platform" },
        { uid: folder.uid, name: folder.name },
        { uid: inner.uid, name: inner.name },
        { uid: repo.uid, name: "" },
      ],
      grants: [
        {
          source: "GRANT_SOURCE_ROLE_BINDING",
          state: "GRANT_STATE_ACTIVE",
          condition: "",
          identity: { uid: bot.uid, name: bot.name, email: "" },
          role: { uid: role.uid, name: role.name },
          group: { uid: folder.uid, name: folder.name },
          inherited: true,
          binding: binding.uid,
          identityProvider: "",
          groupMapping: "",
          externalGroup: "",
          groupInvite: "",
          email: "",
        },
      ],
      otherGrants: [],
      missing: [],
      roles: [],
    });
    expect(await explain(bot.uid, "CAP_REPO_LIST", repo.uid)).toEqual(answer);
  });

  test("a denial names what is near, what is missing and the roles that would do", async () => {
    const folder = await makeGroup(platform());
    const inner = await makeGroup(platform(), folder.uid);
    const bot = await makeIdentity(platform(), folder.uid);
    const lacking = await makeRole(platform(), folder.uid, ["CAP_TAG_LIST"]);
    const sufficient = await makeRole(platform(), folder.uid, ["CAP_REPO_CREATE"]);
    const nothing = await explain(bot.uid, "repo.create", folder.uid);
    expect(nothing).toMatchObject({
      verdict: "VERDICT_DENIED",
      grants: [],
      otherGrants: [],
      missing: ["No grant of the identity covers the scope."],
    });
    expect(nothing.roles[0]).toEqual({ uid: sufficient.uid, name: sufficient.name });
    expect(nothing.roles.map(({ name }: Json) => name)).toContain("editor");
    expect(nothing.roles.map(({ name }: Json) => name)).not.toContain("platform.admin");

    await bind(platform(), folder.uid, bot.uid, lacking.uid);
    await bind(platform(), inner.uid, bot.uid, sufficient.uid);
    const near = await explain(bot.uid, "repo.create", folder.uid);
    expect(near.otherGrants.map(({ role, group }: Json) => [role.uid, group.uid])).toEqual([
      [lacking.uid, folder.uid],
      [sufficient.uid, inner.uid],
    ]);
    expect(near.missing).toEqual([
      "1 grant of the identity for the scope: none has CAP_REPO_CREATE.",
      "The identity has CAP_REPO_CREATE only below the scope.",
    ]);

    const outside = await explain(bot.uid, "repo.create", platform().root);
    expect(outside.missing[0]).toBe(
      `The identity is of the group ${folder.uid}. Outside that group nothing can be granted to it.`,
    );
    expect((await explain(freshUid(folder.uid), "repo.create", folder.uid)).missing[0]).toBe(
      "No identity has this uid.",
    );
  });

  test("a list has every grant that counts, the nearest first, page by page", async () => {
    const folder = await makeGroup(platform(), "");
    const inner = await makeGroup(platform(), folder.uid);
    const viewer = await builtInRole(platform(), "viewer");
    const editor = await builtInRole(platform(), "editor");
    const bots: string[] = [];
    for (let i = 0; i < 7; i++) bots.push((await makeIdentity(platform(), folder.uid)).uid);
    for (const bot of bots) await bind(platform(), inner.uid, bot, viewer);
    for (const bot of bots.slice(0, 3)) await bind(platform(), folder.uid, bot, editor);
    const invite = { roleUid: viewer, ttl: "3600s", email: "jane@example.com" };
    const { uid: inviteUid, code } = await platform().ok("CreateGroupInvite", {
      parent: inner.uid,
      groupInvite: invite,
    });
    const { grants, totalCount } = await listAll({ scope: inner.uid, pageSize: 2 });
    const rows = grants.map(({ source, identity, group, inherited }: Json) => [
      source.replace("GRANT_SOURCE_", ""),
      identity?.uid,
      group?.uid,
      inherited,
    ]);
    const sorted = bots.toSorted();
    expect(rows).toEqual([
      ...sorted.map((bot) => ["ROLE_BINDING", bot, inner.uid, false]),
      // Whoever creates a root group owns it.
      ...[...bots.slice(0, 3), platform().administrator].sort().map((bot) => ["ROLE_BINDING", bot, folder.uid, true]),
      ["ADMINISTRATOR", platform().administrator, undefined, true],
      ["GROUP_INVITE", undefined, inner.uid, false],
    ]);
    expect(totalCount).toBe(rows.length);
    expect(grants.at(-1)).toMatchObject({
      state: "GRANT_STATE_PENDING",
      condition: "somebody with its code and e-mail address accepts the invite",
      groupInvite: inviteUid,
      email: "jane@example.com",
    });
    expect(JSON.stringify(grants)).not.toContain(code);
    expect((await listAll({ scope: inner.uid, pageSize: 200 })).grants).toEqual(grants);

    const [bot = ""] = bots;
    const ofOne = await listAll({ scope: folder.uid, identity: bot, pageSize: 1 });
    expect(ofOne.grants.map(({ role, group }: Json) => [role.name, group.uid])).toEqual([
      ["editor", folder.uid],
      ["viewer", inner.uid],
    ]);
    expect(ofOne.totalCount).toBe(2);
    const first = await platform().ok("ListAccess", { scope: inner.uid, pageSize: 1 });
    const elsewhere = { scope: folder.uid, pageToken: first.nextPageToken };
    expect(fieldsOf(await platform().refused("ListAccess", elsewhere, "INVALID_ARGUMENT"))).toEqual(["page_token"]);
  });

  test("names only what the reader may get", async () => {
    const folder = await makeGroup(platform());
    const role = await makeRole(platform(), platform().root, ["CAP_REPO_LIST"]);
    const above = await makeIdentity(platform(), platform().root);
    const binding = await bind(platform(), platform().root, above.uid, role.uid);
    const { token } = await makeMember(platform(), platform().root, ["CAP_IAM_ROLE_BINDINGS_LIST"], folder.uid);
    const { grants } = await listAll({ scope: folder.uid }, token);
    const inherited = grants.find((grant) => grant.binding === binding.uid);
    expect(inherited).toMatchObject({
      identity: { uid: above.uid, name: "", email: "" },
      role: { uid: role.uid, name: "" },
      group: { uid: platform().root, name: "" },
      inherited: true,
    });
    const answer = await explain(above.uid, "repo.list", folder.uid, token);
    expect(answer).toMatchObject({ verdict: "VERDICT_ALLOWED", identity: { uid: above.uid, name: "" } });
    expect(answer.groups.map(({ name }: Json) => name)).toEqual(["", ""]);
    const elsewhere = await makeGroup(platform(), "");
    const foreign = await platform().ok("ListAccess", {
      scope: elsewhere.uid,
      identity: platform().administrator,
    });
    expect(foreign.grants.map(({ source }: Json) => source)).toContain("GRANT_SOURCE_ADMINISTRATOR");
    const member = await makeMember(platform(), elsewhere.uid, "owner");
    const seen = await listAll({ scope: elsewhere.uid }, member.token);
    const admin = seen.grants.find(({ source }) => source === "GRANT_SOURCE_ADMINISTRATOR");
    expect(admin).toMatchObject({ binding: "", state: "GRANT_STATE_ACTIVE", identity: { name: "" } });
    expect(JSON.stringify(seen)).not.toContain(platform().root);
  });

  test("whoever may not get users cannot tell which exist", async () => {
    const folder = await makeGroup(platform(), "");
    const { token } = await makeMember(platform(), folder.uid, "owner");
    const viewer = await builtInRole(platform(), "viewer");
    const [user, nobody] = [(await makeUser(platform())).uid, freshUid()];
    const answers = [];
    for (const uid of [user, nobody]) {
      const before = await explain(uid, "repo.list", folder.uid, token);
      const request = { parent: folder.uid, roleBinding: { identityUid: uid, roleUid: viewer } };
      const { uid: binding } = await platform().ok("CreateRoleBinding", request, { as: token });
      const after = await explain(uid, "repo.list", folder.uid, token);
      const { grants } = await listAll({ scope: folder.uid, identity: uid }, token);
      expect(after.verdict).toBe("VERDICT_CONDITIONAL");
      answers.push(JSON.stringify([before, after, grants]).replaceAll(uid, "USER").replaceAll(binding, "BINDING"));
    }
    expect(answers[1]).toBe(answers[0]);
    const known = await explain(user, "repo.list", folder.uid);
    expect([known.verdict, known.missing]).toEqual([
      "VERDICT_DENIED",
      [
        "No identity provider has the issuer of the user, so no token speaks for it.",
        `The grant of the role ${viewer} does not count: no identity provider has the issuer of the user.`,
      ],
    ]);
    expect((await explain(nobody, "repo.list", folder.uid)).missing).toEqual([
      "It is allowed if the user signs in, which has not happened yet.",
    ]);
  });

  test("an expired invite is told as such, one without an address as open to all", async () => {
    const folder = await makeGroup(platform());
    const roleUid = await builtInRole(platform(), "viewer");
    await platform().ok("CreateGroupInvite", { parent: folder.uid, groupInvite: { roleUid, ttl: "3600s" } });
    const past = { roleUid, expirationTime: "2001-01-01T00:00:00Z" };
    const expired = await platform().call("CreateGroupInvite", { parent: folder.uid, groupInvite: past });
    const { grants } = await listAll({ scope: folder.uid });
    const invites = grants.filter(({ source }) => source === "GRANT_SOURCE_GROUP_INVITE");
    expect(invites.map(({ condition }) => condition).sort()).toEqual([
      "somebody who has its code accepts the invite",
      ...(expired.ok ? ["the invite has expired"] : []),
    ]);
  });

  test("refuses what is missing, malformed or unknown", async () => {
    const folder = await makeGroup(platform());
    const identity = platform().administrator;
    const unknown = { scope: freshUid(), identity, capability: "repo.list" };
    expect(detailOf(await platform().refused("Explain", unknown, "NOT_FOUND"))).toEqual({
      resourceType: "iam.platform.internal/Group",
      resourceName: unknown.scope,
    });
    await platform().refused("ListAccess", { scope: freshUid() }, "NOT_FOUND");
    const mistyped = { scope: folder.uid, identity, capability: "repo.lst" };
    const status = await platform().refused("Explain", mistyped, "INVALID_ARGUMENT");
    expect(status.message).toBe(
      'Invalid argument: capability: no capability is named "repo.lst"; did you mean repo.list?',
    );
    const empty = { scope: folder.uid, identity: "", capability: "" };
    expect(fieldsOf(await platform().refused("Explain", empty, "INVALID_ARGUMENT"))).toEqual([
      "identity",
      "capability",
    ]);
  });

  test("an explanation and a call never disagree", async () => {
    const p = platform();
    const random = new Random(p.database === "sqlite" ? 1 : 2);
    const pick = <T>(items: readonly T[]) => random.pick(items);
    const groups = [(await makeGroup(p, "")).uid];
    for (let i = 0; i < 5; i++) groups.push((await makeGroup(p, pick(groups))).uid);
    const names = probes.map(([capability]) => capability);
    const identities: string[] = [];
    for (let i = 0; i < 5; i++) identities.push((await makeIdentity(p, pick(groups))).uid);
    const issuer = `https://${freshName()}.example.com`;
    const oidc = { issuer, clientId: "web", clientSecret: "secret" };
    const defaultRole = await builtInRole(p, "viewer");
    const identityProvider = { name: "login", defaultRole, oidc };
    await p.ok("CreateIdentityProvider", { parent: pick([groups[0], p.root]), identityProvider });
    const users = [(await makeUser(p, issuer)).uid, (await makeUser(p)).uid];
    const all = [...identities, ...users];
    const roleAt = async (group: string) =>
      (await makeRole(p, group, namesOf(names.filter(() => random.oneIn(2))))).uid;
    const bindings: string[] = [];
    for (let i = 0; i < 16; i++) {
      const [group, identityUid] = [pick(groups), pick(all)];
      const made = await p.call("CreateRoleBinding", {
        parent: group,
        roleBinding: { identityUid, roleUid: await roleAt(group) },
      });
      if (made.ok) bindings.push(made.message.uid);
      else await bindAnyway(p, group, identityUid, await roleAt(group));
    }
    expect(bindings.length).toBeGreaterThan(3);
    const verdicts = new Set<string>();
    for (let round = 0; round < 3; round++) {
      for (const identity of all) {
        const as = await p.token(identity);
        for (const scope of groups) {
          const [capability, method, request] = pick(probes);
          const { verdict, grants, missing } = await p.ok("Explain", { identity, capability, scope });
          verdicts.add(verdict);
          const facts = JSON.stringify({ identity, capability, scope, verdict, grants, missing });
          const isAllowed = verdict !== "VERDICT_DENIED";
          // A token that the platform makes needs no identity provider, and causes no first sign-in.
          const isBound = grants.some(({ binding }: Json) => binding !== "");
          expect(isBound, facts).toBe(await isLetIn(p, method, request(scope), as));
          expect(grants.length > 0, facts).toBe(isAllowed);
          expect(missing.length > 0, facts).toBe(verdict !== "VERDICT_ALLOWED");
          const isActive = grants.some(({ state }: Json) => state === "GRANT_STATE_ACTIVE");
          expect(isActive, facts).toBe(verdict === "VERDICT_ALLOWED");
          if (verdict === "VERDICT_CONDITIONAL") expect(users).toContain(identity);
        }
      }
      await p.ok("DeleteRoleBinding", { uid: bindings.pop() });
    }
    expect([...verdicts].sort()).toEqual(expect.arrayContaining(["VERDICT_ALLOWED", "VERDICT_DENIED"]));
  });
});

/** Capabilities in the spelling of roles; at least one. */
function namesOf(names: readonly string[]): string[] {
  return [...names, "version.list"];
}

/** Stores a binding that the API refuses: one outside the group of its identity. */
async function bindAnyway(platform: Platform, group: string, identityUid: string, roleUid: string): Promise<void> {
  const content = contentOf(roleBindings, create(RoleBindingSchema, { identityUid, roleUid }));
  await platform.write((session) =>
    session.insert(roleBindings.table, newRow(newUid(group), group, Date.now(), content)),
  );
}
