/** `platform whoami`: what identities with few rights and users of identity providers see of themselves. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { exchangeToken } from "../../../src/client/index.ts";
import { userIdentityUid } from "../../../src/new-uid.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../../auth/local-issuer.ts";
import { startWithFolder } from "../server.ts";
import { startProxy } from "../stub-server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;
let key: TestKey;
let issuer: LocalIssuer;

beforeAll(async () => {
  key = await testKey("RS256", "k");
  issuer = await startIssuer(key);
  server = await startWithFolder({ allowLoopbackIssuers: "true" });
  await run(["create", "group", "--parent", "platform", "--name", "team"]);
  await run(["create", "role", "--parent", "platform", "--name", "reader", "--capabilities", "cap-repo-list"]);
  for (const name of ["bot", "lead", "idle", "seer"]) {
    const claims = ["--claim-match.issuer", issuer.url, "--claim-match.subject", name, "--claim-match.audience", "x"];
    await run(["create", "identity", "--parent", "platform", "--name", name, ...claims]);
  }
  const bind = ["create", "role-binding", "--parent"];
  await run([...bind, "platform", "--identity-uid", "bot", "--role-uid", "reader"]);
  await run([...bind, "team", "--identity-uid", "lead", "--role-uid", "viewer"]);
  await run([...bind, "platform", "--identity-uid", "seer", "--role-uid", "viewer"]);
});

afterAll(async () => {
  issuer.close();
  await server.stop();
});

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await server.run(args, env);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

async function tokenOf(claims: Record<string, unknown>): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return sign(key, { iss: issuer.url, aud: "x", iat: now, exp: now + 300, ...claims });
}

/** The output of `whoami` with a token, in both formats. */
async function whoami(token: string, others: Record<string, string> = {}) {
  const env = { PLATFORM_TOKEN: token, ...others };
  return { text: await run(["whoami"], env), json: JSON.parse(await run(["whoami", "-o", "json"], env)) };
}

/** Settings with which a token is not exchanged for one of a single identity. */
async function withoutExchange(): Promise<Record<string, string>> {
  const proxy = await startProxy(server.server, {
    "/sts/exchange": { code: 9, message: "Precondition failed: name an identity provider", details: [] },
  });
  onTestFinished(() => proxy.stop());
  return { PLATFORM_SERVER: proxy.url };
}

test("who may not list role bindings is told so", async () => {
  const { text, json } = await whoami(await tokenOf({ sub: "bot" }));
  expect(text).toMatch(/^roles {10}unknown: you may not list your roles$/m);
  expect(json.roles).toBeUndefined();
  expect(json.rolesAreComplete).toBe(false);
  expect((await whoami(await tokenOf({ sub: "idle" }))).text).toContain("unknown: you may not list your roles");
});

test("who may list role bindings in some groups is told that there may be others", async () => {
  const identity = JSON.parse(await run(["get", "identity", "lead", "-o", "json"])).uid;
  const { text, json } = await whoami(
    (await exchangeToken({ server: server.server }, await tokenOf({ sub: "lead" }), { identity })).token,
  );
  expect(text).toMatch(/^roles {10}viewer \(.*\) at team \(.*\)\n {15}maybe others: you may not list all/m);
  expect(json).toMatchObject({ roles: [{ role: { name: "viewer" }, group: { name: "team" } }] });
});

test("a token that stands for no single identity is that of its issuer and subject", async () => {
  const others = await withoutExchange();
  const seerToo = ["--claim-match.issuer", issuer.url, "--claim-match.subject", "seer", "--claim-match.audience", "x"];
  const seer = await whoami(await tokenOf({ sub: "seer" }), others);
  expect(seer.json).toMatchObject({
    identity: { name: "seer", uid: expect.stringMatching(`^${server.root}/`) },
    alsoActsAs: [],
    issuer: issuer.url,
    subject: "seer",
    organisations: [{ uid: server.root, name: "platform" }],
    roles: [{ role: { name: "viewer" }, group: { name: "platform" } }],
    rolesAreComplete: false,
  });
  expect(seer.text).toMatch(/^identity {7}seer \(.*\)\nissuer /m);
  await run(["create", "identity", "--parent", "team", "--name", "seer too", ...seerToo]);
  const both = await whoami(await tokenOf({ sub: "seer" }), others);
  expect(both.json).toMatchObject({ identity: { name: "seer" }, alsoActsAs: [{ name: "seer too" }] });
  expect(both.text).toMatch(/^also acts as {3}seer too \(.*\)\nissuer /m);
  const bot = await whoami(await tokenOf({ sub: "bot" }), others);
  expect(bot.json).toMatchObject({ identity: { uid: userIdentityUid(issuer.url, "bot") }, alsoActsAs: [] });
  expect(bot.text).toMatch(/^also acts as {3}the identities that the token matches, if any; /m);
  expect(bot.text).toMatch(/^roles {10}unknown: you may not list your roles$/m);
});

test("of very many identities that a token stands for, the 20 oldest are shown", async () => {
  const claimMatch = { issuer: issuer.url, subject: "many", audience: "x" };
  const names = Array.from({ length: 21 }, (_, i) => `of many ${i}`);
  for (const name of names) {
    const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
    const body = JSON.stringify({ name, claimMatch });
    const url = `${server.server}/iam/v2/identities/${server.root}`;
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
  }
  await run(["create", "role-binding", "--parent", "platform", "--identity-uid", names[0]!, "--role-uid", "viewer"]);
  const { json } = await whoami(await tokenOf({ sub: "many" }), await withoutExchange());
  expect([json.identity, ...json.alsoActsAs].map(({ name }) => name)).toEqual(names.slice(0, 20));
});

test("a user of an identity provider sees the e-mail address and the roles by groups of the provider", async () => {
  const provider = JSON.parse(
    await run([
      ...["create", "identity-provider", "--parent", "platform", "--name", "login", "--default-role", "viewer"],
      ...["--oidc.issuer", issuer.url, "--oidc.client-id", "x", "--oidc.pkce-enabled", "-o", "json"],
    ]),
  );
  const mapping = ["create", "external-group-role-mapping", "--parent", provider.uid, "--external-group-id"];
  await run([...mapping, "eng", "--role-uid", "editor"]);
  await run([...mapping, "ops", "--role-uid", "owner"]);
  const token = await tokenOf({
    ...{ sub: "jane", name: "Jane", email: "jane@example.com", email_verified: true, groups: ["eng", "all"] },
  });
  const request = { identityProvider: provider.uid };
  const { text, json } = await whoami((await exchangeToken({ server: server.server }, token, request)).token);
  const group = { uid: server.root, name: "platform" };
  expect(json).toMatchObject({
    identity: { uid: userIdentityUid(issuer.url, "jane"), email: "jane@example.com" },
    issuer: issuer.url,
    subject: "jane",
    organisations: [group],
    roles: [
      { role: { name: "viewer" }, group },
      { role: { name: "editor" }, group, externalGroup: "eng" },
    ],
    rolesAreComplete: true,
  });
  expect(text).toMatch(/^email {10}jane@example\.com\nissuer .*\nsubject {8}jane$/m);
  expect(text).toMatch(/ editor \(.*\) at platform \(.*\), as a member of eng$/m);
});
