/** Provisioning by SCIM: its token, its users and groups, and what they may do with tokens of their provider. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { userIdentityUid } from "../../src/new-uid.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { type IamServer, onEverySharedServer } from "./iam-server.ts";

const viewer = builtInRoleUid("viewer");
const editor = builtInRoleUid("editor");
const providers = "/iam/v1/identityProviders";
const correlationRule = "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID";
const userSchema = "urn:ietf:params:scim:schemas:core:2.0:User";

let key: TestKey;
let issuer: LocalIssuer;
beforeAll(async () => {
  key = await testKey("RS256", "k");
});
beforeEach(async () => {
  issuer = await startIssuer(key);
});
afterEach(() => issuer.close());

const tokenOf = (change: Record<string, unknown> = {}) => {
  const now = Math.floor(Date.now() / 1000);
  return sign(key, { iss: issuer.url, sub: "jane", aud: "web", iat: now, exp: now + 300, ...change });
};

onEverySharedServer(
  "provisioning",
  (server) => {
    let s: IamServer;
    let acme: string;
    let provider: string;
    let secret: string;

    beforeEach(async () => {
      s = server();
      acme = (await s.ok("POST /iam/v1/groups", { name: "acme" })).id;
      const oidc = { issuer: issuer.url, clientId: "web", pkceEnabled: true };
      provider = (await s.ok(`POST ${providers}/${acme}`, { name: "login", defaultRole: viewer, oidc })).id;
      const { token, etag } = await s.ok(`POST ${providers}/${provider}:generateScimToken`, {});
      secret = token;
      await s.ok(`POST ${providers}/${provider}:setScimEnabled`, { enabled: true, etag });
    });

    const scim = (call: string, body?: unknown, token = secret) => s.rest(token, call.replace(" ", " /scim/v2"), body);
    const made = async (path: string, body: object) => {
      const { status, body: answer } = await scim(`POST ${path}`, body);
      expect([status, answer]).toEqual([201, expect.objectContaining({ id: expect.stringMatching(/^[0-9a-f]{16}$/) })]);
      return answer;
    };
    const jane = { schemas: [userSchema], userName: "jane@acme.example", externalId: "jane", active: true };
    const namesSeen = async (token: string) => {
      const { status, body } = await s.rest(token, "GET /iam/v2/groups");
      return status === 200 ? body.groups.map(({ name }: { name: string }) => name) : status;
    };

    describe("its token", () => {
      const stateOf = async () => (await s.ok(`GET ${providers}?id=${provider}`)).items[0].scim;

      test("is shown once, in its own form, and replaced with an overlap", async () => {
        expect(secret).toMatch(/^pscim_[0-9a-f]{64}$/);
        const state = await stateOf();
        expect(state).toMatchObject({ enabled: true, credentialState: "CREDENTIAL_STATE_LIVE" });
        expect(state.endpointUrl).toMatch(/^http:.*\/scim\/v2$/);
        expect(JSON.stringify(state)).not.toContain(secret);
        const again = await s.rest(s.admin, `POST ${providers}/${provider}:generateScimToken`, {});
        expect([again.status, again.body.details[0].reason]).toEqual([400, "FAILED_PRECONDITION"]);
        const { token, etag } = await s.ok(`POST ${providers}/${provider}:regenerateScimToken`, { etag: state.etag });
        expect(await stateOf()).toMatchObject({ credentialState: "CREDENTIAL_STATE_ROTATING" });
        for (const each of [secret, token]) expect((await scim("GET /Users", undefined, each)).status).toBe(200);
        const stale = await s.rest(s.admin, `POST ${providers}/${provider}:regenerateScimToken`, { etag: state.etag });
        expect(stale.body.details[0].reason).toBe("ABORTED");
        const last = await s.ok(`POST ${providers}/${provider}:regenerateScimToken`, { etag, overlap: "0s" });
        for (const each of [secret, token]) expect((await scim("GET /Users", undefined, each)).status).toBe(401);
        expect((await scim("GET /Users", undefined, last.token)).status).toBe(200);
      });

      test("works until it is revoked, while provisioning is on", async () => {
        const { etag } = await stateOf();
        const off = await s.ok(`POST ${providers}/${provider}:setScimEnabled`, { enabled: false, etag });
        expect((await scim("GET /Users")).status).toBe(403);
        await s.ok(`POST ${providers}/${provider}:setScimEnabled`, { enabled: true, etag: off.etag });
        expect((await scim("GET /Users")).status).toBe(200);
        await s.ok(`POST ${providers}/${provider}:revokeScimToken`, {});
        expect(await stateOf()).toMatchObject({ credentialState: "CREDENTIAL_STATE_REVOKED", enabled: true });
        expect((await scim("GET /Users")).status).toBe(401);
      });

      test.each(["", "pscim_0", "not a token"])("and no other opens it: %j", async (token) => {
        const { status, body } = await scim("GET /Users", undefined, token);
        expect([status, body.schemas]).toEqual([401, ["urn:ietf:params:scim:api:messages:2.0:Error"]]);
      });

      test("does not open the API, nor a token of the API this", async () => {
        expect((await s.rest(secret, "GET /iam/v2/groups")).status).toBe(401);
        expect((await scim("GET /Users", undefined, s.admin)).status).toBe(401);
      });
    });

    test("a user may sign in from when it is made until it is disabled", async () => {
      const token = await tokenOf();
      expect(await namesSeen(token)).toBe(401);
      const user = await made("/Users", jane);
      expect(await namesSeen(token)).toEqual(["acme"]);
      const disable = { op: "replace", path: "active", value: false };
      expect((await scim(`PATCH /Users/${user.id}`, { Operations: [disable] })).body.active).toBe(false);
      expect(await namesSeen(token)).toBe(401);
      expect((await scim(`PATCH /Users/${user.id}`, { Operations: [{ ...disable, value: true }] })).status).toBe(200);
      expect(await namesSeen(token)).toEqual(["acme"]);
    });

    test("a token that was exchanged ends with its user, too", async () => {
      const user = await made("/Users", jane);
      const { body } = await s.rest(await tokenOf(), "POST /sts/exchange", {});
      expect(await namesSeen(body.token)).toEqual(["acme"]);
      await scim(`PATCH /Users/${user.id}`, { Operations: [{ op: "Replace", path: "active", value: "False" }] });
      expect(await namesSeen(body.token)).toBe(401);
    });

    test("a user is not an identity until it signs in, and loses its roles when it is removed", async () => {
      const user = await made("/Users", { ...jane, displayName: "Jane Doe", emails: [{ value: "jane@acme.example" }] });
      const identity = userIdentityUid(issuer.url, "jane");
      const bindings = async () => (await s.ok(`GET /iam/v2/roleBindings?identity=${identity}`)).roleBindings;
      expect((await s.rest(s.admin, `GET /iam/v2/identities/${identity}`)).status).toBe(404);
      expect(await bindings()).toEqual([]);
      expect(await namesSeen(await tokenOf())).toEqual(["acme"]);
      expect(await bindings()).toHaveLength(1);
      expect((await scim(`DELETE /Users/${user.id}`)).status).toBe(204);
      expect(await bindings()).toEqual([]);
      expect(await namesSeen(await tokenOf())).toBe(401);
      await made("/Users", jane);
      expect(await namesSeen(await tokenOf())).toEqual(["acme"]);
    });

    test("a user of a provider that correlates by oid is known by it, and its tokens end with it", async () => {
      const oidc = { issuer: issuer.url, clientId: "entra", pkceEnabled: true, correlationRule };
      const entra = (await s.ok(`POST ${providers}/${acme}`, { name: "entra", defaultRole: viewer, oidc })).id;
      const { token: theirs, etag } = await s.ok(`POST ${providers}/${entra}:generateScimToken`, {});
      await s.ok(`POST ${providers}/${entra}:setScimEnabled`, { enabled: true, etag });
      const call = (text: string, body?: unknown) => scim(text, body, theirs);
      const nameless = await call("POST /Users", { userName: "nameless", active: true });
      expect(nameless.status).toBe(201);
      const own = { aud: "entra", sub: "pairwise", oid: "7" };
      for (const claims of [own, { ...own, oid: "" }, { ...own, oid: undefined }, { ...own, oid: ["7"] }])
        expect(await namesSeen(await tokenOf(claims))).toBe(401);
      const { id } = (await call("POST /Users", { userName: "jane", externalId: "7", active: true })).body;
      expect(await namesSeen(await tokenOf(own))).toEqual(["acme"]);
      expect(await namesSeen(await tokenOf({ ...own, oid: undefined }))).toBe(401);
      const exchanged = (await s.rest(await tokenOf(own), "POST /sts/exchange", {})).body.token;
      expect(await namesSeen(exchanged)).toEqual(["acme"]);
      const identity = userIdentityUid(issuer.url, "pairwise");
      const bindings = async () => (await s.ok(`GET /iam/v2/roleBindings?identity=${identity}`)).roleBindings.length;
      expect(await bindings()).toBe(1);
      expect((await call(`DELETE /Users/${id}`)).status).toBe(204);
      expect([await namesSeen(exchanged), await namesSeen(await tokenOf(own)), await bindings()]).toEqual([
        401, 401, 0,
      ]);
    });

    test("what the directory says of a user is shown to its organisation, and is nobody else's name", async () => {
      await made("/Users", { ...jane, displayName: "J. Doe", emails: [{ value: "owner@other.example" }] });
      await namesSeen(await tokenOf({ name: "Jane", email: "jane@acme.example", email_verified: true }));
      const identity = userIdentityUid(issuer.url, "jane");
      expect(await s.ok(`GET /iam/v2/identities/${identity}`)).toMatchObject({
        name: "jane",
        email: "jane@acme.example",
      });
      const owner = await s.stranger(acme);
      const roleUid = (await s.ok("GET /iam/v2/roles?name=owner")).roles[0].uid;
      await s.ok(`POST /iam/v2/roleBindings/${acme}`, { identityUid: owner.uid, roleUid });
      const { body } = await s.rest(owner.token, `GET /iam/v2/roleBindings?identity=${identity}`);
      expect(body.roleBindings[0].identity).toMatchObject({
        uid: identity,
        name: "j. doe",
        email: "",
        subject: "jane",
      });
    });

    test("groups give the roles that are mapped to them", async () => {
      const user = await made("/Users", jane);
      const mapping = { externalGroupId: "Makers", roleUidp: editor };
      await s.ok(`POST /iam/v1/externalGroupRoleMappings/${provider}`, mapping);
      const token = await tokenOf();
      const makes = async () =>
        (await s.rest(token, `POST /iam/v2/roles/${acme}`, { name: "r", capabilities: ["CAP_REPO_LIST"] })).status;
      const makesRepo = async () =>
        (await s.rest(token, `POST /registry/v2/repos/${acme}`, { name: `r${Math.random()}` })).status;
      expect([await makes(), await makesRepo()]).toEqual([403, 403]);
      const group = await made("/Groups", { displayName: "Makers", members: [{ value: user.id }] });
      expect(await makesRepo()).toBe(200);
      expect((await scim(`GET /Users/${user.id}`)).body.groups).toMatchObject([{ value: group.id, display: "Makers" }]);
      const leave = { op: "remove", path: `members[value eq "${user.id}"]` };
      expect((await scim(`PATCH /Groups/${group.id}`, { Operations: [leave] })).body.members).toBeUndefined();
      expect(await makesRepo()).toBe(403);
    });

    test("users are found, changed and counted", async () => {
      for (let i = 0; i < 7; i++)
        await made("/Users", { userName: `User${i}`, externalId: `${i}`, title: i % 2 ? "a" : "b" });
      const list = async (query: string) => (await scim(`GET /Users?${query}`)).body;
      expect(await list(`filter=${encodeURIComponent('userName eq "USER3"')}`)).toMatchObject({
        totalResults: 1,
        Resources: [{ externalId: "3" }],
      });
      expect(await list(`filter=${encodeURIComponent('externalId eq "4" and title eq "b"')}`)).toMatchObject({
        totalResults: 1,
      });
      expect(await list(`filter=${encodeURIComponent('title eq "a"')}`)).toMatchObject({ totalResults: 3 });
      const page = await list("startIndex=3&count=2");
      expect(page).toMatchObject({ totalResults: 7, startIndex: 3, itemsPerPage: 2 });
      expect(await list("count=0")).toMatchObject({ totalResults: 7, itemsPerPage: 0, Resources: [] });
      // Users are listed by their ids, which are random, so `User0` can be on any page.
      const { id, meta } = page.Resources.find((user: { userName: string }) => user.userName !== "User0");
      const other = await scim(`PUT /Users/${id}`, { userName: "user0" });
      expect([other.status, other.body.scimType]).toEqual([409, "uniqueness"]);
      const put = await scim(`PUT /Users/${id}`, { userName: "renamed", nickName: "r" });
      expect(put.body).toMatchObject({ userName: "renamed", nickName: "r" });
      expect(put.body.title).toBeUndefined();
      expect(put.body.meta.version).not.toBe(meta.version);
      expect((await scim("GET /Users?filter=userName%20is%20x")).body.scimType).toBe("invalidFilter");
      const { body: few } = await scim("GET /Users?attributes=userName&count=1");
      expect(Object.keys(few.Resources[0]).sort()).toEqual(["id", "schemas", "userName"]);
    });

    test.each<[string, object, number, string | undefined]>([
      ["/Users", {}, 400, "invalidValue"],
      ["/Users", { userName: 7 }, 400, "invalidValue"],
      ["/Users", { userName: "a", active: "perhaps" }, 400, "invalidValue"],
      ["/Groups", { displayName: "g", members: [{ value: "0000000000000000" }] }, 400, "invalidValue"],
      ["/Nothing", { userName: "a" }, 404, undefined],
      ["/Bulk", {}, 501, undefined],
    ])("POST %s %j is refused", async (path, body, status, scimType) => {
      const answer = await scim(`POST ${path}`, body);
      expect([answer.status, answer.body.scimType, answer.body.status]).toEqual([status, scimType, String(status)]);
    });

    test("nobody sees the users of another provider", async () => {
      const user = await made("/Users", jane);
      const other = (await s.ok("POST /iam/v1/groups", { name: "other" })).id;
      const oidc = { issuer: issuer.url, clientId: "other", pkceEnabled: true };
      const theirs = (await s.ok(`POST ${providers}/${other}`, { name: "login", defaultRole: viewer, oidc })).id;
      const { token, etag } = await s.ok(`POST ${providers}/${theirs}:generateScimToken`, {});
      await s.ok(`POST ${providers}/${theirs}:setScimEnabled`, { enabled: true, etag });
      expect((await scim(`GET /Users/${user.id}`, undefined, token)).status).toBe(404);
      expect((await scim(`DELETE /Users/${user.id}`, undefined, token)).status).toBe(404);
      expect((await scim("GET /Users", undefined, token)).body.totalResults).toBe(0);
    });

    test("everything of a provider goes with it", async () => {
      await made("/Users", jane);
      await s.ok(`DELETE /iam/v2/identityProviders/${provider}`);
      expect((await scim("GET /Users")).status).toBe(401);
    });

    test.each([
      ["PUT /Users", "GET, POST"],
      ["POST /ServiceProviderConfig", "GET"],
      ["GET /.search", "POST"],
    ])("%s is answered with the methods there are", async (call, allow) => {
      const [method, path] = call.split(" ");
      const { location } = (await made("/Users", jane)).meta;
      const answer = await fetch(new URL(`/scim/v2${path}`, location), {
        method: method!,
        headers: { authorization: `Bearer ${secret}` },
      });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    });

    test("a change of an old version is refused", async () => {
      const user = await made("/Users", jane);
      const call = (version: string, method: string) =>
        fetch(user.meta.location, { method, headers: { authorization: `Bearer ${secret}`, "if-match": version } });
      expect((await call('W/"9"', "DELETE")).status).toBe(412);
      expect((await call(user.meta.version, "DELETE")).status).toBe(204);
    });

    test("a read whose client has the current version is answered without a body", async () => {
      const user = await made("/Users", jane);
      const statusOf = async (tags: string) => {
        const headers = { authorization: `Bearer ${secret}`, "if-none-match": tags };
        const answer = await fetch(user.meta.location, { headers });
        expect(answer.headers.get("etag")).toBe(user.meta.version);
        expect((await answer.text()) === "", tags).toBe(answer.status === 304);
        return answer.status;
      };
      for (const tags of [user.meta.version, "*", user.meta.version.slice(2), `W/"0", ${user.meta.version}`])
        expect(await statusOf(tags), tags).toBe(304);
      for (const tags of ['W/"0"', '"*"']) expect(await statusOf(tags), tags).toBe(200);
    });

    test("what is supported is described", async () => {
      expect((await scim("GET /ServiceProviderConfig")).body).toMatchObject({
        patch: { supported: true },
        bulk: { supported: false },
      });
      expect((await scim("GET /ResourceTypes")).body.Resources.map(({ id }: { id: string }) => id)).toEqual([
        "User",
        "Group",
      ]);
      expect((await scim(`GET /Schemas/${userSchema}`)).body.attributes[0]).toMatchObject({
        name: "userName",
        required: true,
      });
      expect((await scim("GET /Schemas/nope")).status).toBe(404);
    });
  },
  { allowLoopbackIssuers: "true" },
);
