/** Tokens from outside are exchanged for the platform's own, narrowed, refreshed and revoked. */
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userIdentityUid } from "../../src/new-uid.ts";
import { forge, type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { type Json, onEveryServer, type Reply, replyOf } from "./live-server.ts";

const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
const jwtType = "urn:ietf:params:oauth:token-type:jwt";
/** Seconds of an hour, of which one may begin between making a token and saying how long it lives. */
const anHour = expect.toBeOneOf([3600, 3599]);

onEveryServer("token exchange", {}, (server) => {
  let key: TestKey;
  let external: LocalIssuer;
  beforeAll(async () => {
    key = await testKey("ES256", "a");
    external = await startIssuer(key);
  });
  afterAll(() => external.close());

  const seconds = () => Math.floor(Date.now() / 1000);
  const outside = (sub: string, more: Record<string, unknown> = {}, signer = key) =>
    sign(signer, { iss: external.url, sub, aud: server().baseUrl, iat: seconds(), exp: seconds() + 900, ...more });
  let count = 0;

  /** A group with an identity that may do what the role says, its subject, and a token for it. */
  async function robot(role = "editor", more: Record<string, unknown> = {}) {
    const { call, group } = server();
    const place = await group();
    const subject = `robot-${count++}`;
    const body = { name: "robot", claimMatch: { issuer: external.url, subject } };
    const identity: string = (await call("POST", `/iam/v2/identities/${place}`, body)).body.uid;
    const roleUid = (await call("GET", `/iam/v2/roles?name=${role}`)).body.roles[0].uid;
    const bound = await call("POST", `/iam/v2/roleBindings/${place}`, { identityUid: identity, roleUid });
    return { place, subject, identity, binding: bound.body.uid as string, token: await outside(subject, more) };
  }

  async function post(path: string, parameters: Json, token?: string, headers: Record<string, string> = {}) {
    const pairs = Object.entries(parameters).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((item): [string, string] => [name, item]),
    );
    return replyOf(
      await fetch(`${server().baseUrl}${path}`, {
        method: "POST",
        headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
        body: new URLSearchParams(pairs),
      }),
    );
  }
  const exchange = (token: string | undefined, parameters: Json = {}) => post("/sts/exchange", parameters, token);
  const refresh = (token: string, parameters: Json = {}) => post("/sts/exchange_refresh_token", parameters, token);
  const revoke = (token: string) => post("/sts/revoke", { token });
  const mayList = async (token: string, place: string) =>
    (await server().call("GET", `/registry/v2/repos?uidp.descendants_of=${place}`, undefined, token)).status;
  const mayWrite = async (token: string, place: string) =>
    (await server().call("POST", `/registry/v2/repos/${place}`, { name: `repo-${count++}` }, token)).status;
  const expectDenied = ({ status, body }: Reply, httpStatus: number, code: number) => {
    expect([status, body.code]).toEqual([httpStatus, code]);
    expect(body.details[0]["@type"]).toBe("type.googleapis.com/google.rpc.ErrorInfo");
  };

  describe("exchange", () => {
    test("gives a token of an hour that says where it comes from, and one to refresh it", async () => {
      const { token, subject, place } = await robot("editor", { email: "a@b.example", email_verified: true });
      const before = seconds();
      const { status, body, headers } = await exchange(token);
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-request-id")).toMatch(/./);
      expect(Object.keys(body).sort()).toEqual(["expiry", "refreshToken", "token"]);
      const claims = decodeJwt(body.token);
      expect(claims).toMatchObject({
        iss: server().baseUrl,
        aud: server().baseUrl,
        sub: userIdentityUid(external.url, subject),
        email: "a@b.example",
        email_verified: true,
        act: { iss: external.url, sub: subject, aud: server().baseUrl },
      });
      expect(claims.exp! - claims.iat!).toBe(3600);
      expect(claims.iat).toBeGreaterThanOrEqual(before);
      expect(body.expiry).toBe(new Date(claims.exp! * 1000).toISOString());
      expect(body.refreshToken).toMatch(/^[\w-]{64}$/);
      expect([await mayList(body.token, place), await mayWrite(body.token, place)]).toEqual([200, 200]);
    });

    test("takes an unverified address for none", async () => {
      const { token } = await robot("viewer", { email: "a@b.example" });
      expect(decodeJwt((await exchange(token)).body.token)).not.toHaveProperty("email");
    });

    test("knows the jobs of one repository of GitHub by its name, in subjects with and without ids", async () => {
      const { call, group } = server();
      const subjectPattern = "repo:acme(@[0-9]+)?/app(@[0-9]+)?:ref:refs/heads/main";
      const body = { name: "github", claimMatch: { issuer: external.url, subjectPattern } };
      expect((await call("POST", `/iam/v2/identities/${await group()}`, body)).status).toBe(200);
      for (const [repo, status] of [
        ["acme/app", 200],
        ["acme@1001/app@2002", 200],
        ["acme@1001/app-2@2002", 401],
        ["acme@1001x/app", 401],
      ] as const)
        expect([repo, (await exchange(await outside(`repo:${repo}:ref:refs/heads/main`))).status]).toEqual([
          repo,
          status,
        ]);
    });

    test("reads a form, JSON, and the header of a GET", async () => {
      const { token, identity } = await robot();
      const at = `${server().baseUrl}/sts/exchange`;
      const bearer = { authorization: `Bearer ${token}` };
      const json = { "content-type": "application/json" };
      const ways = [
        fetch(`${at}?identity=${encodeURIComponent(identity)}`, { method: "POST", headers: bearer }),
        fetch(at, { method: "POST", body: new URLSearchParams({ subject_token: token, identity }) }),
        fetch(at, {
          method: "POST",
          headers: json,
          body: JSON.stringify({ subjectToken: token, identity, cap: ["repo.list"] }),
        }),
        fetch(at, { method: "POST", headers: { ...bearer, ...json }, body: JSON.stringify({ identity, aud: null }) }),
        fetch(at, { method: "POST", headers: bearer, body: new Blob([JSON.stringify({ identity })]) }),
        fetch(`${at}?identity=${encodeURIComponent(identity)}&aud=`, { headers: bearer }),
      ];
      for (const way of ways) {
        const { status, body } = await replyOf(await way);
        expect([status, decodeJwt(body.token).sub]).toEqual([200, identity]);
      }
      const head = await fetch(at, { method: "HEAD", headers: bearer });
      expect([head.status, await head.text()]).toEqual([200, ""]);
    });

    test("acts as the identity named, among those the token matches", async () => {
      const { call, group } = server();
      const one = await robot();
      const place = await group();
      const body = { name: "second", claimMatch: { issuer: external.url, subject: one.subject } };
      const second = (await call("POST", `/iam/v2/identities/${place}`, body)).body.uid;
      const asBoth = (await exchange(one.token)).body.token;
      expect(decodeJwt(asBoth).sub).toBe(userIdentityUid(external.url, one.subject));
      expect(await mayWrite(asBoth, one.place)).toBe(200);
      expect(decodeJwt((await exchange(asBoth, { identity: second })).body.token).sub).toBe(second);
      const asSecond = (await exchange(one.token, { identity: second })).body.token;
      expect(decodeJwt(asSecond).sub).toBe(second);
      expect(await mayWrite(asSecond, one.place)).toBe(403);
    });

    test("refuses an identity that the token does not stand for, whether it exists or not", async () => {
      const one = await robot();
      const other = await robot();
      const unknown = `${other.place}/${"0".repeat(16)}`;
      const forged = forge({ alg: "ES256", kid: "a" }, { ...decodeJwt(one.token) });
      const replies = [
        await exchange(one.token, { identity: other.identity }),
        await exchange(one.token, { identity: unknown }),
        await exchange(one.token, { identity: "nonsense" }),
        await exchange(await outside("nobody"), { identity: one.identity }),
        await exchange(await outside(one.subject, { aud: "https://other.example" }), { identity: one.identity }),
        await exchange(forged, { identity: one.identity }),
      ];
      for (const reply of replies) expectDenied(reply, 403, 7);
      expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    });

    test("refuses what is not a token or too old, always in the same words", async () => {
      const one = await robot();
      const replies = [
        await exchange("abc"),
        await exchange(await outside("nobody")),
        await exchange(await outside(one.subject, { exp: seconds() - 100 })),
        await exchange(await outside(one.subject, { exp: seconds() - 100 }), { identity: one.identity }),
        await exchange(await outside(one.subject, {}, await testKey("ES256", "a"))),
        await exchange(forge({ alg: "none" }, decodeJwt(one.token)), { identity: one.identity }),
      ];
      const invalid = 'Bearer error="invalid_token"';
      const expired = `${invalid}, error_description="the token is expired"`;
      for (const [i, reply] of replies.entries()) {
        expectDenied(reply, 401, 16);
        expect(reply.headers.get("www-authenticate")).toBe(i === 2 || i === 3 ? expired : invalid);
      }
      expect(new Set(replies.map(({ body }) => body.message))).toEqual(
        new Set(["Unauthenticated: invalid bearer token"]),
      );
      const missing = await exchange(undefined);
      expectDenied(missing, 401, 16);
      expect(missing.headers.get("www-authenticate")).toBe("Bearer");
    });

    test("issues tokens for the platform only", async () => {
      const { token } = await robot();
      const { baseUrl } = server();
      const good = await exchange(token, { aud: [baseUrl, baseUrl.replace("http://", "")] });
      expect(decodeJwt(good.body.token).aud).toBe(baseUrl);
      const bad = await exchange(token, { aud: [baseUrl, "https://other.example"] });
      expectDenied(bad, 400, 3);
      expect(bad.body.message).toBe("Invalid argument: aud: tokens are issued for this platform only");
    });

    test.each<[string, Json]>([
      ["scopes", { scopes: "everywhere" }],
      ["cap", { cap: "repo.fly" }],
      ["scops", { scops: "a" }],
      ["identity", { identity: ["a", "b"] }],
      ["subject_token_type", { subject_token_type: "urn:ietf:params:oauth:token-type:saml2" }],
      ["subject_token", { subject_token: "another" }],
    ])("refuses a faulty %s", async (field, parameters) => {
      const reply = await exchange((await robot()).token, parameters);
      expectDenied(reply, 400, 3);
      expect(reply.body.details[1].fieldViolations[0].field).toBe(field);
    });

    test("takes no token from a URL", async () => {
      const { token } = await robot();
      for (const name of ["token", "subject_token", "subjectToken", "access_token", "refresh_token"]) {
        for (const method of ["GET", "POST"]) {
          const url = `${server().baseUrl}/sts/exchange?${name}=${token}`;
          const headers = { authorization: `Bearer ${token}` };
          const reply = await replyOf(await fetch(url, { method, headers }));
          expectDenied(reply, 400, 3);
          expect(JSON.stringify(reply.body)).not.toContain(token);
        }
      }
    });

    test("keeps to the rules of the port", async () => {
      const at = `${server().baseUrl}/sts/exchange`;
      const wrongVerb = await fetch(at, { method: "PUT" });
      expect([wrongVerb.status, wrongVerb.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
      expectDenied(await replyOf(wrongVerb), 405, 12);
      const getRefresh = await fetch(`${server().baseUrl}/sts/exchange_refresh_token`);
      expect([getRefresh.status, getRefresh.headers.get("allow")]).toEqual([405, "POST"]);
      const text = { method: "POST", headers: { "content-type": "text/plain" }, body: "a" };
      expectDenied(await replyOf(await fetch(at, text)), 415, 3);
      const large = { method: "POST", body: new URLSearchParams({ subject_token: "a".repeat(70_000) }) };
      expectDenied(await replyOf(await fetch(at, large)), 413, 8);
      for (const body of ["{", "[]", '{"identity":1}', '{"identity":"a","identity":"b"}']) {
        const json = { method: "POST", headers: { "content-type": "application/json" }, body };
        expectDenied(await replyOf(await fetch(at, json)), 400, 3);
      }
      expectDenied(await server().call("GET", "/sts/other"), 404, 5);
    });
  });

  describe("narrowing", () => {
    test("to groups counts for them and all below", async () => {
      const one = await robot();
      const inner = await server().group(one.place);
      const sibling = await server().group(one.place);
      const { token } = (await exchange(one.token, { scopes: [inner] })).body;
      expect(decodeJwt(token).scopes).toEqual([inner]);
      expect([await mayWrite(token, inner), await mayWrite(token, sibling), await mayWrite(token, one.place)]).toEqual([
        200, 403, 403,
      ]);
      const repos = await server().call("GET", "/registry/v2/repos", undefined, token);
      expect(repos.body.repos.every(({ uid }: Json) => uid.startsWith(inner))).toBe(true);
      expect(repos.body.totalCount).toBe("1");
    });

    test("to a group where the identity has nothing gives nothing", async () => {
      const one = await robot();
      const other = await server().group();
      const { token } = (await exchange(one.token, { scope: other })).body;
      expect([await mayWrite(token, other), await mayWrite(token, one.place)]).toEqual([403, 403]);
    });

    test("to capabilities in either spelling, each once", async () => {
      const one = await robot();
      const { token } = (await exchange(one.token, { cap: ["CAP_REPO_LIST", "tag.list", "repo.list"] })).body;
      expect(decodeJwt(token).cap).toEqual(["repo.list", "tag.list"]);
      const less = (await exchange(token, { cap: "CAP_TAG_LIST" })).body;
      expect(decodeJwt(less.token).cap).toEqual(["tag.list"]);
    });

    test("to capabilities counts for no other", async () => {
      const one = await robot();
      const { token } = (await exchange(one.token, { cap: ["repo.list", "tag.list"] })).body;
      expect(decodeJwt(token).cap).toEqual(["repo.list", "tag.list"]);
      expect([await mayList(token, one.place), await mayWrite(token, one.place)]).toEqual([200, 403]);
    });

    test("is never undone by exchanging or refreshing again", async () => {
      const one = await robot();
      const inner = await server().group(one.place);
      const first = (await exchange(one.token, { scopes: [inner], cap: ["repo.list", "repo.create"] })).body;
      const again = async (parameters: Json) => (await exchange(first.token, parameters)).body.token;
      for (const token of [
        await again({}),
        await again({ scopes: [one.place] }),
        await again({ identity: one.identity }),
      ]) {
        expect(decodeJwt(token)).toMatchObject({ scopes: [inner], cap: expect.arrayContaining(["repo.list"]) });
        expect([await mayWrite(token, inner), await mayWrite(token, one.place)]).toEqual([200, 403]);
      }
      const less = await again({ cap: ["repo.list", "tag.list"] });
      expect(decodeJwt(less).cap).toEqual(["repo.list"]);
      expect(await mayWrite(less, inner)).toBe(403);
      expectDenied(await exchange(first.token, { cap: "tag.list" }), 400, 3);
      expectDenied(await exchange(first.token, { scopes: await server().group() }), 400, 3);
      const refreshed = (await refresh(first.refreshToken)).body.token.token;
      expect(decodeJwt(refreshed).scopes).toEqual([inner]);
      expect([await mayWrite(refreshed, inner), await mayWrite(refreshed, one.place)]).toEqual([200, 403]);
      const widened = await refresh((await exchange(one.token, { scopes: [inner] })).body.refreshToken, {
        scopes: [one.place],
      });
      expect(decodeJwt(widened.body.token.token).scopes).toEqual([inner]);
    });

    test("leaves room for what cannot be granted from it", async () => {
      const { call, admin, root, administrator } = server();
      const { token } = (await exchange(admin, { cap: ["role_bindings.create", "roles.list", "groups.list"] })).body;
      const owner = (await call("GET", "/iam/v2/roles?name=owner")).body.roles[0].uid;
      const grant = { identityUid: administrator, roleUid: owner };
      expectDenied(await call("POST", `/iam/v2/roleBindings/${root}`, grant, token), 403, 7);
    });

    test("of a token of the platform ends with it and begins no session", async () => {
      const { running, administrator } = server();
      const token = await running.mintToken(administrator, 600);
      const { body } = await exchange(token, { cap: "groups.list" });
      expect(Object.keys(body).sort()).toEqual(["expiry", "token"]);
      expect(decodeJwt(body.token).exp).toBe(decodeJwt(token).exp);
      const again = decodeJwt((await exchange(body.token)).body.token);
      expect(again.act).toEqual(decodeJwt(body.token).act);
    });
  });

  describe("of a user of an identity provider", () => {
    const roleNamed = async (name: string) =>
      (await server().call("GET", `/iam/v2/roles?name=${name}`)).body.roles[0].uid;
    async function organisation(clientId: string) {
      const { call } = server();
      const group: string = (await call("POST", "/iam/v2/groups", { name: "acme" })).body.uid;
      const oidc = { issuer: external.url, clientId, pkceEnabled: true };
      const body = { name: "login", defaultRole: await roleNamed("viewer"), oidc };
      const provider: string = (await call("POST", `/iam/v2/identityProviders/${group}`, body)).body.uid;
      const map = async (externalGroupId: string, roleUid: string) =>
        (await call("POST", `/iam/v2/externalGroupRoleMappings/${provider}`, { externalGroupId, roleUid })).body.uid;
      const user = (claims: Record<string, unknown> = {}) =>
        outside(`user of ${clientId}`, { aud: clientId, ...claims });
      return { group, provider, map, user };
    }

    test.each([
      ["keeps the provider that is named", true],
      ["signs in at the only provider", false],
    ])("%s, and begins a session that ends with it", async (_, isNamed) => {
      const { group, provider, user } = await organisation(isNamed ? "one" : "only");
      const named = isNamed ? { identity_provider: provider } : {};
      const { token, refreshToken } = (await exchange(await user(), named)).body;
      expect(decodeJwt(token).idp).toBe(isNamed ? provider : undefined);
      expect(decodeJwt(token)).not.toHaveProperty("groups");
      expect(await mayList(token, group)).toBe(200);
      const next = (await refresh(refreshToken)).body;
      expect(decodeJwt(next.token.token).idp).toBe(isNamed ? provider : undefined);
      await server().call("DELETE", `/iam/v2/identityProviders/${provider}`);
      expect(await mayList(token, group)).toBe(401);
      expectDenied(await refresh(next.refreshToken.token), 401, 16);
    });

    test.each([
      ["named", true],
      ["not named", false],
    ])("with mapped roles has them as long as the token given, and is refreshed without, %s", async (name, isNamed) => {
      const { group, provider, map, user } = await organisation(`two ${name}`);
      const named = isNamed ? { identity_provider: provider } : {};
      const given = await user({ groups: ["admins", "others"] });
      const unmapped = (await exchange(given, named)).body;
      expect(await mayWrite(unmapped.token, group)).toBe(403);
      const mapping = await map("admins", await roleNamed("editor"));
      const { token, refreshToken } = (await exchange(given, named)).body;
      const claims = decodeJwt(token);
      expect(claims.exp! - claims.iat!).toBe(3600);
      expect(await mayWrite(token, group)).toBe(200);
      const narrow = (await exchange(token, { cap: "repo.list" })).body.token;
      expect([await mayList(narrow, group), await mayWrite(narrow, group)]).toEqual([200, 403]);
      const soon = await user({ groups: ["admins"], exp: seconds() + 2 });
      const short = (await exchange(soon, named)).body.token;
      expect(await mayWrite(short, group)).toBe(200);
      await expect.poll(() => mayWrite(short, group)).toBe(403);
      expect(await mayList(short, group)).toBe(200);
      const refreshed = (await refresh(refreshToken)).body.token.token;
      expect(await mayList(refreshed, group)).toBe(200);
      await server().call("DELETE", `/iam/v2/externalGroupRoleMappings/${mapping}`);
      expect(await mayWrite(token, group)).toBe(403);
    });

    test("may name the provider", async () => {
      const one = await organisation("three");
      const other = await organisation("three");
      for (const { provider } of [one, other]) {
        const { token } = (await exchange(await one.user(), { identity_provider: provider })).body;
        expect(decodeJwt(token).idp).toBe(provider);
      }
      const { provider } = await organisation("four");
      expectDenied(await exchange(await one.user(), { identity_provider: provider }), 403, 7);
      expectDenied(await exchange((await robot()).token, { identity_provider: provider }), 403, 7);
    });
  });

  describe("switching off", () => {
    test("acts on the next call", async () => {
      const one = await robot();
      const { token, refreshToken } = (await exchange(one.token)).body;
      expect(await mayWrite(token, one.place)).toBe(200);
      await server().call("DELETE", `/iam/v2/roleBindings/${one.binding}`);
      expect(await mayWrite(token, one.place)).toBe(403);
      await server().call("DELETE", `/iam/v2/identities/${one.identity}`);
      expect(await mayWrite(token, one.place)).toBe(401);
      expectDenied(await refresh(refreshToken), 401, 16);
      expectDenied(await exchange(one.token), 401, 16);
      expectDenied(await exchange(token), 401, 16);
    });
  });

  describe("refreshing", () => {
    test("gives both tokens anew; the old one works no more", async () => {
      const one = await robot("editor", { email: "a@b.example", email_verified: true });
      const first = (await exchange(one.token)).body;
      const { status, body } = await refresh(first.refreshToken);
      expect(status).toBe(200);
      expect(await mayWrite(body.token.token, one.place)).toBe(200);
      const { exp, iat, jti, ...rest } = decodeJwt(first.token);
      expect(decodeJwt(body.token.token)).toMatchObject(rest);
      expect(body.token.expiry).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      const days = (Date.parse(body.refreshToken.expiry) - Date.now()) / 86_400_000;
      expect(Math.round(days)).toBe(30);
      expect(body.refreshToken.token).not.toBe(first.refreshToken);
      expect((await refresh(body.refreshToken.token)).status).toBe(200);
    });

    test("with a token that has been rotated ends the session", async () => {
      const first = (await exchange((await robot()).token)).body.refreshToken;
      const second = (await refresh(first)).body.refreshToken.token;
      const third = (await refresh(second)).body.refreshToken.token;
      expectDenied(await refresh(first), 401, 16);
      expectDenied(await refresh(third), 401, 16);
    });

    test("with one token at once is not done twice", async () => {
      const first = (await exchange((await robot()).token)).body.refreshToken;
      const replies = await Promise.all(Array.from({ length: 8 }, () => refresh(first)));
      const winners = replies.filter(({ status }) => status === 200);
      expect(winners.length).toBeLessThanOrEqual(1);
      for (const { body } of winners) expectDenied(await refresh(body.refreshToken.token), 401, 16);
    });

    test("narrows one token, not the session", async () => {
      const one = await robot();
      const first = (await exchange(one.token)).body.refreshToken;
      const narrow = (await refresh(first, { cap: "repo.list" })).body;
      expect([await mayList(narrow.token.token, one.place), await mayWrite(narrow.token.token, one.place)]).toEqual([
        200, 403,
      ]);
      const wide = (await refresh(narrow.refreshToken.token)).body;
      expect(await mayWrite(wide.token.token, one.place)).toBe(200);
    });

    test.each(["", "abc", "A".repeat(64), "A".repeat(63), "é", "a b"])("refuses %j", async (token) => {
      const reply = await post("/sts/exchange_refresh_token", { refresh_token: token });
      expectDenied(reply, 401, 16);
      expect(reply.body.message).toBe(
        token === "" ? "Unauthenticated: missing bearer token" : "Unauthenticated: invalid refresh token",
      );
    });

    test("is not a call that a refresh token can make", async () => {
      const { refreshToken } = (await exchange((await robot()).token)).body;
      expect((await server().call("GET", "/iam/v2/groups", undefined, refreshToken)).status).toBe(401);
      expectDenied(await exchange(refreshToken), 401, 16);
    });
  });

  describe("revoking", () => {
    test("ends the session, by its current token or an older one", async () => {
      for (const older of [false, true]) {
        const first = (await exchange((await robot()).token)).body.refreshToken;
        const second = (await refresh(first)).body.refreshToken.token;
        const reply = await revoke(older ? first : second);
        expect([reply.status, reply.body]).toEqual([200, undefined]);
        expectDenied(await refresh(second), 401, 16);
      }
    });

    test("what is not a token is not an error", async () => {
      for (const token of ["abc", "A".repeat(64)]) expect((await revoke(token)).status).toBe(200);
    });

    test("says what it cannot do", async () => {
      expect((await revoke(server().admin)).body).toMatchObject({ error: "unsupported_token_type" });
      const missing = await post("/sts/revoke", {});
      expect([missing.status, missing.body.error]).toEqual([400, "invalid_request"]);
    });
  });

  describe("in the terms of OAuth", () => {
    test("exchanges", async () => {
      const one = await robot();
      const { status, body } = await exchange(undefined, {
        grant_type: exchangeGrant,
        subject_token: one.token,
        subject_token_type: jwtType,
        requested_token_type: accessTokenType,
        audience: server().baseUrl,
        scope: `${one.place} ${one.place}/${"0".repeat(16)}`,
        some_extension: "ignored",
      });
      expect(status).toBe(200);
      expect(body).toEqual({
        access_token: expect.any(String),
        issued_token_type: accessTokenType,
        token_type: "Bearer",
        expires_in: anHour,
        refresh_token: expect.any(String),
        scope: one.place,
      });
      expect(await mayWrite(body.access_token, one.place)).toBe(200);
    });

    test("refreshes, at either address", async () => {
      const first = (await exchange((await robot()).token)).body.refreshToken;
      const grant = (refresh_token: string) => ({ grant_type: "refresh_token", refresh_token });
      const { body } = await post("/sts/exchange", grant(first));
      expect(body).toMatchObject({ token_type: "Bearer", expires_in: anHour });
      const second = await post("/sts/exchange_refresh_token", grant(body.refresh_token));
      expect(Object.keys(second.body).sort()).toEqual(["access_token", "expires_in", "refresh_token", "token_type"]);
    });

    test("refuses", async () => {
      const { token, identity } = await robot();
      const grant = { grant_type: exchangeGrant };
      const cases: [Reply, number, string][] = [
        [await exchange(undefined, grant), 400, "invalid_request"],
        [await exchange(undefined, { ...grant, subject_token: "abc" }), 400, "invalid_request"],
        [await exchange("abc", grant), 401, "invalid_client"],
        [await exchange(token, { ...grant, identity: `${identity}0` }), 400, "invalid_request"],
        [await exchange(token, { ...grant, audience: "https://other.example" }), 400, "invalid_target"],
        [await exchange(token, { ...grant, scope: "nowhere" }), 400, "invalid_scope"],
        [await exchange(token, { ...grant, cap: "nothing" }), 400, "invalid_scope"],
        [await exchange(token, { ...grant, requested_token_type: "saml" }), 400, "invalid_request"],
        [await exchange(token, { ...grant, actor_token: "a" }), 400, "invalid_request"],
        [await exchange(token, { grant_type: "password" }), 400, "unsupported_grant_type"],
        [await exchange(undefined, { grant_type: "refresh_token" }), 400, "invalid_request"],
        [await exchange(undefined, { grant_type: "refresh_token", refresh_token: "abc" }), 400, "invalid_grant"],
        [await refresh("A".repeat(64), { grant_type: "refresh_token" }), 400, "invalid_grant"],
        [await refresh("A".repeat(64), grant), 400, "unsupported_grant_type"],
      ];
      for (const [{ status, body }, httpStatus, error] of cases) {
        expect([status, body.error]).toEqual([httpStatus, error]);
        expect(Object.keys(body)).toEqual(["error", "error_description"]);
        expect(body.error_description).toMatch(/^[ !#-[\]-~]+$/);
      }
    });

    test("is announced by discovery", async () => {
      const discovery = (await server().call("GET", "/.well-known/openid-configuration", undefined, null)).body;
      expect(discovery).toMatchObject({
        token_endpoint: `${server().baseUrl}/sts/exchange`,
        revocation_endpoint: `${server().baseUrl}/sts/revoke`,
        grant_types_supported: [exchangeGrant, "refresh_token"],
      });
    });
  });
});
