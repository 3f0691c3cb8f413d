/**
 * Users of an organisation's own login service: what their tokens open, from the first one on, and what closes it
 * again.
 */
import { Code } from "@connectrpc/connect";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { GroupsService } from "../../gen/platform/iam/v2/groups_pb.ts";
import { userIdentityUid } from "../../src/new-uid.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import {
  discoveryPath,
  forge,
  type LocalIssuer,
  sign,
  startIssuer,
  type TestKey,
  testKey,
} from "../auth/local-issuer.ts";
import { failureOf, type IamServer, onEverySharedServer } from "./iam-server.ts";

const viewer = builtInRoleUid("viewer");
const editor = builtInRoleUid("editor");
const groups = "/iam/v2/groups";
const providers = "/iam/v2/identityProviders";
const mappings = "/iam/v2/externalGroupRoleMappings";
const bindings = "/iam/v2/roleBindings";
const identities = "/iam/v2/identities";

let key: TestKey;
let stranger: TestKey;
let issuer: LocalIssuer;
beforeAll(async () => {
  key = await testKey("RS256", "k");
  stranger = await testKey("RS256", "k");
});
beforeEach(async () => {
  issuer = await startIssuer(key);
});
afterEach(() => issuer.close());

function claimsOf(change: Record<string, unknown>) {
  const now = Math.floor(Date.now() / 1000);
  return { iss: issuer.url, sub: "jane", aud: "web", iat: now, exp: now + 300, ...change };
}
const tokenOf = (change: Record<string, unknown> = {}, signer = key) => sign(signer, claimsOf(change));

onEverySharedServer(
  "users of an identity provider",
  (server) => {
    let s: IamServer;
    let acme: string;
    let provider: string;
    const jane = () => userIdentityUid(issuer.url, "jane");

    beforeEach(async () => {
      s = server();
      acme = (await s.ok(`POST ${groups}`, { name: "acme" })).uid;
      provider = await makeProvider(acme);
    });

    async function makeProvider(group: string, clientId = "web", oidc = {}): Promise<string> {
      const configuration = { issuer: issuer.url, clientId, pkceEnabled: true, ...oidc };
      const body = { name: "login", defaultRole: viewer, oidc: configuration };
      return (await s.ok(`POST ${providers}/${group}`, body)).uid;
    }
    const ownIssuer = async () => (await s.ok("GET /.well-known/openid-configuration")).issuer;
    const statusOf = async (token: string, call: string, body?: unknown) => (await s.rest(token, call, body)).status;
    const namesSeen = async (token: string) => {
      const answer = await s.rest(token, `GET ${groups}?order_by=name`);
      expect(answer.status).toBe(200);
      return answer.body.groups.map(({ name }: { name: string }) => name);
    };
    const bindingsOf = async (identity = jane()) => (await s.ok(`GET ${bindings}?identity=${identity}`)).roleBindings;

    test("are known from their first token on, with the default role", async () => {
      const token = await tokenOf({ name: "Jane Doe", email: "jane@acme.example", email_verified: true });
      expect(await namesSeen(token)).toEqual(["acme"]);
      expect(await s.ok(`GET ${identities}/${jane()}`)).toMatchObject({
        uid: jane(),
        name: "jane doe",
        email: "jane@acme.example",
        emailUnverified: "",
        claimMatch: { issuer: issuer.url, subject: "jane" },
      });
      expect(await bindingsOf()).toMatchObject([
        {
          identity: { uid: jane(), issuer: issuer.url, subject: "jane" },
          group: { uid: acme },
          role: { name: "viewer" },
        },
      ]);
      expect(await statusOf(token, `POST ${groups}/${acme}`, { name: "folder" })).toBe(403);
      const page = await s.grpc(GroupsService, token).listGroups({});
      expect(page.groups.map(({ uid }) => uid)).toEqual([acme]);
    });

    test("have from their first token on what they were granted before it", async () => {
      const owners = await s.holderOf(acme, "CAP_IAM_ROLE_BINDINGS_CREATE", "CAP_REPO_CREATE");
      const role = await s.ok(`POST /iam/v2/roles/${acme}`, { name: "maker", capabilities: ["CAP_REPO_CREATE"] });
      const query = `issuer=${encodeURIComponent(issuer.url)}&subject=jane`;
      const { body: found } = await s.rest(owners.token, `GET ${identities}:lookupIdentity?${query}`);
      const bound = await s.rest(owners.token, `POST ${bindings}/${acme}`, {
        identityUid: found.uid,
        roleUid: role.uid,
      });
      expect(bound.body.identity).toMatchObject({ uid: jane(), name: "", issuer: "" });
      expect(await statusOf(await tokenOf(), `POST /registry/v2/repos/${acme}`, { name: "a" })).toBe(200);
      expect(await bindingsOf()).toHaveLength(2);
    });

    test("of a subject of their own are users of their own", async () => {
      await namesSeen(await tokenOf());
      await namesSeen(await tokenOf({ sub: "john", email: "john@acme.example" }));
      const john = await s.ok(`GET ${identities}/${userIdentityUid(issuer.url, "john")}`);
      expect(john).toMatchObject({ name: "john-acme.example", email: "", emailUnverified: "john@acme.example" });
      expect((await s.ok(`GET ${bindings}?uidp.children_of=${acme}&role=${viewer}`)).totalCount).toBe("2");
    });

    test("are made once, however many tokens come first", async () => {
      const tokens = await Promise.all(Array.from({ length: 24 }, (_, i) => tokenOf({ jti: `${i % 6}` })));
      const statuses = await Promise.all(tokens.map((token) => statusOf(token, `GET ${groups}/${acme}`)));
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(await bindingsOf()).toHaveLength(1);
    });

    test("cause no write after that", async () => {
      await namesSeen(await tokenOf());
      const before = [await s.ok(`GET ${identities}/${jane()}`), await bindingsOf()];
      await namesSeen(await tokenOf({ name: "Someone Else", email: "other@acme.example" }));
      expect([await s.ok(`GET ${identities}/${jane()}`), await bindingsOf()]).toEqual(before);
    });

    test("do not get back what was taken from them", async () => {
      const token = await tokenOf();
      await namesSeen(token);
      const [binding] = await bindingsOf();
      await s.ok(`DELETE ${bindings}/${binding.uid}`);
      expect(await namesSeen(token)).toEqual([]);
      expect(await namesSeen(await tokenOf({ jti: "later" }))).toEqual([]);
      expect(await bindingsOf()).toEqual([]);
      await s.ok(`DELETE ${identities}/${jane()}`);
      for (const other of [token, await tokenOf({ jti: "later still" })])
        expect(await statusOf(other, `GET ${groups}`)).toBe(401);
      expect(await statusOf(s.admin, `GET ${identities}/${jane()}`)).toBe(404);
    });

    test("are out with the call after their provider is deleted", async () => {
      const token = await tokenOf();
      await namesSeen(token);
      const own = await s.tokenOf(jane());
      const forPlatform = await tokenOf({ aud: await ownIssuer() });
      expect(await namesSeen(own)).toEqual(["acme"]);
      expect(await namesSeen(forPlatform)).toEqual([]);
      await s.ok(`DELETE ${providers}/${provider}`);
      for (const other of [token, own, forPlatform]) expect(await statusOf(other, `GET ${groups}`)).toBe(401);
      expect((await failureOf(s.grpc(GroupsService, token).listGroups({}))).code).toBe(Code.Unauthenticated);
      expect(await statusOf(s.admin, `GET ${identities}/${jane()}`)).toBe(200);
      await makeProvider(acme);
      expect(await namesSeen(token)).toEqual(["acme"]);
      expect(await bindingsOf()).toHaveLength(1);
    });

    test("are bound by the provider of every organisation, which opens its own organisation only", async () => {
      const bolt = (await s.ok(`POST ${groups}`, { name: "bolt" })).uid;
      const open = (await s.ok(`POST ${groups}`, { name: "open" })).uid;
      await makeProvider(bolt, "cli");
      const [web, cli] = [await tokenOf(), await tokenOf({ aud: "cli" })];
      expect(await namesSeen(web)).toEqual(["acme"]);
      expect(await bindingsOf()).toHaveLength(1);
      expect(await namesSeen(cli)).toEqual(["bolt"]);
      expect(await namesSeen(web)).toEqual(["acme"]);
      expect(await bindingsOf()).toHaveLength(2);
      expect(await namesSeen(await tokenOf({ aud: ["cli", "web"] }))).toEqual(["acme", "bolt"]);
      await s.ok(`POST ${bindings}/${open}`, { identityUid: jane(), roleUid: viewer });
      expect(await namesSeen(web)).toEqual(["acme", "open"]);
      expect(await namesSeen(cli)).toEqual(["bolt", "open"]);
    });

    test("are let in where an organisation has a provider by its own providers' tokens only, exchanged or not", async () => {
      const bolt = (await s.ok(`POST ${groups}`, { name: "bolt" })).uid;
      const open = (await s.ok(`POST ${groups}`, { name: "open" })).uid;
      const [web, forPlatform] = [
        await tokenOf(),
        await tokenOf({ aud: await ownIssuer(), act: { iss: "https://x" } }),
      ];
      await namesSeen(web);
      await s.ok(`POST ${bindings}/${bolt}`, { identityUid: jane(), roleUid: viewer });
      await s.ok(`POST ${bindings}/${open}`, { identityUid: jane(), roleUid: viewer });
      expect(await namesSeen(web)).toEqual(["acme", "bolt", "open"]);
      expect(await namesSeen(forPlatform)).toEqual(["bolt", "open"]);
      const cli = await makeProvider(bolt, "cli");
      const exchanged = async (token: string) => (await s.rest(token, "POST /sts/exchange")).body.token;
      const [webs, platforms] = [await exchanged(web), await exchanged(forPlatform)];
      const { refreshToken } = (await s.rest(forPlatform, "POST /sts/exchange")).body;
      const renewed = (await s.rest("", "POST /sts/exchange_refresh_token", { refreshToken })).body;
      for (const token of [web, webs, await exchanged(webs)]) expect(await namesSeen(token)).toEqual(["acme", "open"]);
      for (const token of [forPlatform, platforms, await exchanged(platforms), renewed.token.token])
        expect(await namesSeen(token)).toEqual(["open"]);
      expect(await statusOf(forPlatform, `GET ${groups}/${bolt}`)).toBe(403);
      expect((await failureOf(s.grpc(GroupsService, platforms).getGroup({ uid: acme }))).code).toBe(
        Code.PermissionDenied,
      );
      await s.ok(`DELETE ${providers}/${cli}`);
      for (const token of [web, webs]) expect(await namesSeen(token)).toEqual(["acme", "bolt", "open"]);
      for (const token of [forPlatform, platforms]) expect(await namesSeen(token)).toEqual(["bolt", "open"]);
    });

    test("have the roles of their groups, live and for that token only", async () => {
      const repos = `POST /registry/v2/repos/${acme}`;
      const [inOps, outside] = [await tokenOf({ groups: ["eng", "ops"] }), await tokenOf()];
      expect(await statusOf(inOps, repos, { name: "a" })).toBe(403);
      const mapping = await s.ok(`POST ${mappings}/${provider}`, { externalGroupId: "ops", roleUid: editor });
      expect(await statusOf(inOps, repos, { name: "a" })).toBe(200);
      expect(await statusOf(outside, repos, { name: "b" })).toBe(403);
      expect(await statusOf(await tokenOf({ groups: "ops" }), repos, { name: "c" })).toBe(200);
      expect(await statusOf(await tokenOf({ sub: "john", groups: ["ops"] }), repos, { name: "d" })).toBe(200);
      expect(await bindingsOf()).toMatchObject([{ role: { name: "viewer" } }]);
      await s.ok(`PATCH ${mappings}/${mapping.uid}`, { roleUid: viewer });
      expect(await statusOf(inOps, repos, { name: "e" })).toBe(403);
      await s.ok(`PATCH ${mappings}/${mapping.uid}`, { roleUid: editor });
      expect(await statusOf(inOps, repos, { name: "e" })).toBe(200);
      await s.ok(`DELETE ${mappings}/${mapping.uid}`);
      expect(await statusOf(inOps, repos, { name: "f" })).toBe(403);
    });

    test("name their groups in the claim that the provider says", async () => {
      const repos = `POST /registry/v2/repos/${acme}`;
      await s.ok(`POST ${mappings}/${provider}`, { externalGroupId: "ops", roleUid: editor });
      await s.ok(`PATCH ${providers}/${provider}`, { oidc: { groupsClaim: "teams" } });
      expect(await statusOf(await tokenOf({ groups: ["ops"] }), repos, { name: "a" })).toBe(403);
      expect(await statusOf(await tokenOf({ teams: ["ops"] }), repos, { name: "a" })).toBe(200);
    });

    test("may grant no more than their groups give them", async () => {
      await s.ok(`POST ${mappings}/${provider}`, { externalGroupId: "ops", roleUid: builtInRoleUid("limited_owner") });
      const token = await tokenOf({ groups: ["ops"] });
      await namesSeen(token);
      const bind = (roleUid: string) => statusOf(token, `POST ${bindings}/${acme}`, { identityUid: jane(), roleUid });
      const less = builtInRoleUid("console_viewer");
      expect([await bind(editor), await bind(less), await bind(viewer)]).toEqual([403, 200, 409]);
    });

    test("are not made by tokens that are not in order, and nobody is asked about those of strangers", async () => {
      const now = Math.floor(Date.now() / 1000);
      const users = async () => (await s.ok(`GET ${identities}?name=user`)).totalCount;
      const before = await users();
      const silent = [
        await tokenOf({ aud: [] }),
        await tokenOf({ iss: "http://127.0.0.1:1" }),
        await tokenOf({ iss: `${issuer.url}/` }),
        forge({ alg: "none" }, claimsOf({}), ""),
        forge({ alg: "HS256", kid: "k" }, claimsOf({})),
      ];
      for (const token of silent) expect(await statusOf(token, `GET ${groups}`)).toBe(401);
      expect(issuer.requests).toEqual([]);
      const refused = [
        await tokenOf({ aud: "elsewhere" }),
        await tokenOf({ exp: now - 61 }),
        await tokenOf({ nbf: now + 3600 }),
        await tokenOf({}, stranger),
        forge({ alg: "RS256", kid: "k" }, claimsOf({})),
        `${(await tokenOf({ sub: "john" })).split(".").slice(0, 2).join(".")}.${(await tokenOf()).split(".")[2]}`,
      ];
      for (const token of refused) expect(await statusOf(token, `GET ${groups}`)).toBe(401);
      expect(issuer.requests).toEqual([discoveryPath, "/keys"]);
      expect(await users()).toBe(before);
      expect((await s.ok(`GET ${bindings}?uidp.children_of=${acme}&role=${viewer}`)).totalCount).toBe("0");
    });
  },
  { allowLoopbackIssuers: "true" },
);
