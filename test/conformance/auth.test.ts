/**
 * Tokens: the platform's own and those of issuers outside, and what happens to them when identities and bindings come
 * and go.
 */
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forge, type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import type { Json } from "./contract.ts";
import { bind, builtInRole, freshName, makeGroup, makeIdentity, makeMember, makeRepo } from "./fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const seconds = () => Math.floor(Date.now() / 1000);

/** The claims of a token, unverified. */
function claimsOf(token: string): Json {
  return JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
}

onEveryServer("the platform's own tokens", (platform) => {
  test("say what they should: an hour at most, for the issuer itself", async () => {
    const { uid } = await makeIdentity(platform(), platform().root);
    const claims = claimsOf(await platform().token(uid, 600));
    expect(claims).toMatchObject({ iss: platform().baseUrl, aud: platform().baseUrl, sub: uid });
    expect(claims.exp - claims.iat).toBe(600);
  });

  test("discovery and keys are published, and verify a token", async () => {
    const open = async (path: string) => {
      const response = await fetch(`${platform().baseUrl}${path}`);
      expect(response.status).toBe(200);
      return (await response.json()) as Json;
    };
    const discovery = await open("/.well-known/openid-configuration");
    expect(discovery).toMatchObject({ issuer: platform().baseUrl, id_token_signing_alg_values_supported: ["ES256"] });
    const { keys } = await open(discovery.jwks_uri.slice(platform().baseUrl.length));
    const { kid, alg } = JSON.parse(Buffer.from(platform().admin.split(".")[0]!, "base64url").toString());
    expect(alg).toBe("ES256");
    const key = keys.find((candidate: Json) => candidate.kid === kid);
    expect(key).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" });
    for (const secret of ["d", "p", "q", "k"]) expect(key[secret]).toBeUndefined();
  });

  test("the scheme is Bearer in any case, the header has nothing else", async () => {
    const status = async (authorization: string) =>
      (await platform().fetch("/iam/v2/groups", { headers: { authorization } })).status;
    const token = platform().admin;
    for (const header of [`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`])
      expect(await status(header)).toBe(200);
    for (const header of [
      token,
      `Basic ${token}`,
      "Bearer",
      "Bearer ",
      `Bearer ${token} x`,
      `Bearer ${token}, Bearer ${token}`,
    ])
      expect([header, await status(header)]).toEqual([header, 401]);
  });

  test("a token in the address is not a token", async () => {
    for (const name of ["access_token", "token", "authorization"]) {
      const response = await fetch(`${platform().baseUrl}/iam/v2/groups?${name}=${platform().admin}`);
      expect([400, 401]).toContain(response.status);
    }
  });

  test("refused: expired, not of us, not for us, unsigned, signed by others", async () => {
    const { privateKey } = await generateKeyPair("ES256");
    const [header] = platform().admin.split(".");
    const { kid } = JSON.parse(Buffer.from(header!, "base64url").toString());
    const good = claimsOf(platform().admin);
    const signed = (claims: Json, alg = "ES256", key: Parameters<SignJWT["sign"]>[0] = privateKey) =>
      new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(key);
    const jwks = (await (await fetch(`${platform().baseUrl}/.well-known/jwks.json`)).json()) as Json;
    const publicText = new TextEncoder().encode(JSON.stringify(jwks.keys[0]).padEnd(32));
    const parts = platform().admin.split(".");
    for (const [what, token] of [
      ["expired", await platform().token(platform().administrator, -61)],
      ["signed by another key", await signed(good)],
      ["of another issuer", await signed({ ...good, iss: "https://issuer.example.com" })],
      ["for another audience", await signed({ ...good, aud: "https://elsewhere.example.com" })],
      ["signed with the public key as secret", await signed(good, "HS256", publicText)],
      ["unsigned", forge({ alg: "none" }, good, "")],
      ["unsigned with a kid", forge({ alg: "none", kid }, good, "")],
      [
        "with other claims",
        [parts[0], Buffer.from(JSON.stringify({ ...good, sub: "x" })).toString("base64url"), parts[2]].join("."),
      ],
      ["without a signature", `${parts[0]}.${parts[1]}.`],
      ["in two parts", `${parts[0]}.${parts[1]}`],
      ["very long", `${"a".repeat(9000)}.a.a`],
    ] as const) {
      const status = await platform().refused("ListGroups", {}, "UNAUTHENTICATED", { as: token });
      expect([what, status.message]).toEqual([what, "Unauthenticated: invalid bearer token"]);
      expect(status.details).toHaveLength(1);
    }
  });

  test("a deleted identity's token ends with the next call", async () => {
    const { uid, token: as } = await makeMember(platform(), platform().root, "viewer");
    await platform().read("ListRepos", {}, { as });
    await platform().ok("DeleteIdentity", { uid });
    await platform().refused("ListRepos", {}, "UNAUTHENTICATED", { as });
  });

  test("survive a restart, and keep their issuer", async () => {
    const before = platform().baseUrl;
    await platform().restart();
    expect(platform().baseUrl).not.toBe("");
    expect(await platform().read("GetGroup", { uid: platform().root })).toMatchObject({ uid: platform().root });
    expect(claimsOf(await platform().token(platform().administrator)).iss).toBe(before);
  });
});

onEveryServer(
  "tokens of issuers outside",
  (platform) => {
    let key: TestKey;
    let issuer: LocalIssuer;
    let repo: Json;

    beforeAll(async () => {
      key = await testKey("RS256", "outside");
      issuer = await startIssuer(key);
      repo = await makeRepo(platform(), platform().root);
    });
    afterAll(() => issuer?.close());

    const tokenOf = (subject: string, more: Json = {}, signer = key) =>
      sign(signer, {
        iss: issuer.url,
        sub: subject,
        aud: platform().baseUrl,
        iat: seconds(),
        exp: seconds() + 300,
        ...more,
      });

    /** An identity with that rule, bound as viewer. */
    async function viewerWith(rule: Json, parent = platform().root): Promise<Json> {
      const identity = await makeIdentity(platform(), parent, rule.staticKeys ? rule : { claimMatch: rule });
      await bind(platform(), parent, identity.uid, await builtInRole(platform(), "viewer"));
      return identity;
    }

    const isAccepted = async (as: string) => {
      const outcome = await platform().call("GetRepo", { uid: repo.uid }, { as });
      if (!outcome.ok) expect([16, 7]).toContain(outcome.status.code);
      return outcome.ok;
    };

    test("are taken when an identity's claim match fits, over every protocol", async () => {
      const subject = freshName("subject");
      await platform().refused("GetRepo", { uid: repo.uid }, "UNAUTHENTICATED", { as: await tokenOf(subject) });
      await viewerWith({ issuer: issuer.url, subject });
      expect(await platform().read("GetRepo", { uid: repo.uid }, { as: await tokenOf(subject) })).toEqual(repo);
      await platform().refused("GetRepo", { uid: repo.uid }, "UNAUTHENTICATED", { as: await tokenOf(`${subject}x`) });
    });

    test("mean this platform by its address, with or without scheme; anything else is not for us", async () => {
      const subject = freshName("subject");
      await viewerWith({ issuer: issuer.url, subject });
      const host = new URL(platform().baseUrl).host;
      for (const aud of [platform().baseUrl, host, [host, "https://elsewhere.example.com"]])
        expect(await isAccepted(await tokenOf(subject, { aud })), String(aud)).toBe(true);
      for (const aud of ["https://elsewhere.example.com", [], "", undefined, `${host}.example.com`])
        expect(await isAccepted(await tokenOf(subject, { aud })), String(aud)).toBe(false);
    });

    test("another audience by name or pattern takes the place of ours", async () => {
      const [named, patterned] = [freshName("a"), freshName("b")];
      await viewerWith({ issuer: issuer.url, subject: named, audience: "my-app" });
      await viewerWith({ issuer: issuer.url, subject: patterned, audiencePattern: "app-[0-9]+" });
      expect(await isAccepted(await tokenOf(named, { aud: "my-app" }))).toBe(true);
      expect(await isAccepted(await tokenOf(named))).toBe(false);
      expect(await isAccepted(await tokenOf(patterned, { aud: "app-12" }))).toBe(true);
      for (const aud of ["app-", "xapp-12", "app-12x"])
        expect(await isAccepted(await tokenOf(patterned, { aud }))).toBe(false);
    });

    test("patterns match the whole of issuer and subject, claims hold exactly", async () => {
      const prefix = freshName("repo");
      await viewerWith({
        issuerPattern: issuer.url.replaceAll(".", "\\."),
        subjectPattern: `${prefix}:acme/[a-z]+`,
        claims: { ref: "main", attempt: "2", fork: "false" },
        claimPatterns: { job: "build-.*" },
      });
      const good = { ref: "main", attempt: 2, fork: false, job: "build-1" };
      expect(await isAccepted(await tokenOf(`${prefix}:acme/app`, good))).toBe(true);
      for (const more of [
        { ref: "main2" },
        { ref: ["main"] },
        { attempt: 3 },
        { fork: true },
        { job: "test" },
        { job: "xbuild-1" },
        { ref: undefined },
      ])
        expect(await isAccepted(await tokenOf(`${prefix}:acme/app`, { ...good, ...more })), JSON.stringify(more)).toBe(
          false,
        );
      for (const subject of [`${prefix}:acme/APP`, `${prefix}:acme/app/x`, `x${prefix}:acme/app`])
        expect(await isAccepted(await tokenOf(subject, good)), subject).toBe(false);
    });

    test.each([
      ["expired", () => ({ exp: seconds() - 3600, iat: seconds() - 7200 })],
      ["not yet valid", () => ({ nbf: seconds() + 3600 })],
      ["without an end", () => ({ exp: undefined })],
      ["of another issuer", () => ({ iss: "https://issuer.example.com" })],
    ])("refused: %s", async (_, more) => {
      const subject = freshName("subject");
      await viewerWith({ issuer: issuer.url, subject });
      expect(await isAccepted(await tokenOf(subject))).toBe(true);
      expect(await isAccepted(await tokenOf(subject, more()))).toBe(false);
    });

    test("refused: a key that the issuer does not publish, an algorithm without a key", async () => {
      const subject = freshName("subject");
      await viewerWith({ issuer: issuer.url, subject });
      const stranger = await testKey("RS256", "outside");
      expect(await isAccepted(await tokenOf(subject, {}, stranger))).toBe(false);
      const claims = claimsOf(await tokenOf(subject));
      expect(await isAccepted(forge({ alg: "none" }, claims, ""))).toBe(false);
      expect(await isAccepted(forge({ alg: "HS256", kid: "outside" }, claims))).toBe(false);
    });

    test.each(["RS512", "PS256", "ES256", "ES384", "EdDSA"])("%s is an algorithm", async (alg) => {
      const other = await testKey(alg, freshName("key"));
      const local = await startIssuer(other);
      try {
        const subject = freshName("subject");
        await viewerWith({ issuer: local.url, subject });
        expect(await isAccepted(await tokenOf(subject, { iss: local.url }, other))).toBe(true);
      } finally {
        local.close();
      }
    });

    test("static keys need no issuer that answers", async () => {
      const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
      const jwk = { ...(await exportJWK(publicKey)), kid: "static", alg: "ES256" };
      const own: TestKey = { alg: "ES256", privateKey, jwk };
      const subject = freshName("subject");
      const iss = "https://nowhere.example.com";
      const staticKeys = { issuer: iss, subject, issuerKeys: JSON.stringify({ keys: [jwk] }) };
      await viewerWith({ staticKeys });
      expect(await isAccepted(await tokenOf(subject, { iss }, own))).toBe(true);
      expect(await isAccepted(await tokenOf(subject, { iss, aud: "other" }, own))).toBe(false);
      expect(await isAccepted(await tokenOf(`${subject}x`, { iss }, own))).toBe(false);
      expect(await isAccepted(await tokenOf(subject, { iss }))).toBe(false);

      const expirationTime = new Date(Date.now() + 1500).toISOString();
      const brief = freshName("brief");
      await viewerWith({ staticKeys: { ...staticKeys, subject: brief, audiences: ["pull"], expirationTime } });
      const as = await tokenOf(brief, { iss, aud: "pull" }, own);
      expect(await isAccepted(as)).toBe(true);
      expect(await isAccepted(await tokenOf(brief, { iss }, own)), "audiences take the place of ours").toBe(false);
      await new Promise((resolve) => setTimeout(resolve, Date.parse(expirationTime) - Date.now() + 20));
      expect(await isAccepted(as)).toBe(false);
    });

    test("grants of all identities that match unite", async () => {
      const subject = freshName("subject");
      const [one, two] = [await makeGroup(platform()), await makeGroup(platform())];
      await viewerWith({ issuer: issuer.url, subject }, one.uid);
      await viewerWith({ issuer: issuer.url, subjectPattern: subject }, two.uid);
      const as = await tokenOf(subject);
      const { groups } = await platform().read("ListGroups", {}, { as });
      expect(groups.map(({ uid }: Json) => uid)).toEqual([one.uid, two.uid].sort());
    });

    test("a new binding, a deleted one, a changed rule, a deleted identity: all on the next call", async () => {
      const subject = freshName("subject");
      const { uid } = await makeIdentity(platform(), platform().root, { claimMatch: { issuer: issuer.url, subject } });
      const as = await tokenOf(subject);
      const get = { uid: repo.uid };
      await platform().refused("GetRepo", get, "PERMISSION_DENIED", { as });
      const binding = await bind(platform(), platform().root, uid, await builtInRole(platform(), "viewer"));
      await platform().read("GetRepo", get, { as });
      await platform().ok("DeleteRoleBinding", { uid: binding.uid });
      await platform().refused("GetRepo", get, "PERMISSION_DENIED", { as });
      const patch = (value: string) =>
        platform().ok("UpdateIdentity", {
          identity: { uid, claimMatch: { subject: value } },
          updateMask: "claimMatch.subject",
        });
      await patch("other");
      await platform().refused("GetRepo", get, "UNAUTHENTICATED", { as });
      await patch(subject);
      await platform().refused("GetRepo", get, "PERMISSION_DENIED", { as });
      await platform().ok("DeleteIdentity", { uid });
      await platform().refused("GetRepo", get, "UNAUTHENTICATED", { as });
    });

    test("use moves last_seen_time at most once a minute, and neither update_time nor etag", async () => {
      const subject = freshName("subject");
      const identity = await viewerWith({ issuer: issuer.url, subject });
      await isAccepted(await tokenOf(subject));
      const after = await platform().read("GetIdentity", { uid: identity.uid });
      expect(after, "seen less than a minute after its creation").toEqual(identity);
    });

    test("nobody is the first administrator by a token from outside", async () => {
      const claims = { sub: "administrator", iss: platform().baseUrl };
      await platform().refused("ListGroups", {}, "UNAUTHENTICATED", { as: await tokenOf("administrator", claims) });
    });
  },
  { allowLoopbackIssuers: true },
);

describe("an issuer on loopback", () => {
  onEveryServer("without the setting", (platform) => {
    test("is never asked", async () => {
      const key = await testKey("RS256", "k");
      const issuer = await startIssuer(key);
      try {
        const rule = { issuerPattern: issuer.url.replaceAll(".", "\\."), subject: "s" };
        const request = { parent: platform().root, identity: { name: "x", claimMatch: rule } };
        await platform().refused("CreateIdentity", request, "INVALID_ARGUMENT");
        await platform().restart({ allowLoopbackIssuers: true });
        await bindViewer(platform(), rule);
        await platform().restart();
        const claims = { iss: issuer.url, sub: "s", aud: platform().baseUrl, iat: seconds(), exp: seconds() + 300 };
        await platform().refused("ListGroups", {}, "UNAUTHENTICATED", { as: await sign(key, claims) });
        expect(issuer.requests).toEqual([]);
      } finally {
        issuer.close();
      }
    });
  });
});

async function bindViewer(platform: Platform, rule: Json): Promise<void> {
  const { uid } = await makeIdentity(platform, platform.root, { claimMatch: rule });
  await bind(platform, platform.root, uid, await builtInRole(platform, "viewer"));
}
