import { Code, ConnectError } from "@connectrpc/connect";
import { importJWK, type JWK } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Authenticator } from "../../src/auth/authenticate.ts";
import type { MatchableIdentity } from "../../src/auth/identity-source.ts";
import type { ClaimMatch, StaticKeys } from "../../src/auth/tokens/claim-match.ts";
import { createIssuer, type Issuer } from "../../src/auth/tokens/issuer.ts";
import { createKeySets } from "../../src/auth/tokens/key-sets.ts";
import { generateSigningKey, type StoredKey } from "../../src/auth/tokens/signing-keys.ts";
import { userIdentityUid } from "../../src/new-uid.ts";
import {
  brokenHeaders,
  forgedTokens,
  misissuedTokens,
  rsaSigned,
  shortRsaKey,
  signText,
  type TrustedHand,
} from "./forged-tokens.ts";
import { keySourcesIn } from "./identity-table.ts";
import {
  discoveryPath,
  forge,
  type LocalIssuer,
  sign,
  startIssuer,
  startMs,
  type TestKey,
  testKey,
} from "./local-issuer.ts";

const platform = "https://api.platform.example";
const root = "0".repeat(40);
const group = "1".repeat(40);
let nowMs: number;
const clock = () => nowMs;

let ownKey: StoredKey;
let ownSigner: TestKey;
let own: Issuer;
let key: TestKey;
let rsa: TestKey;
let external: LocalIssuer;

/** Identities as a table: what a store would filter by index is filtered by the rules alone. */
let identities: MatchableIdentity[];
let asked: [issuer: string, subject: string][];
/** Asked, it differs: every call finds the identities as they are. */
let changes = 0;
let authenticator: Authenticator;

beforeAll(async () => {
  ownKey = await generateSigningKey();
  const { privateJwk, kid } = ownKey;
  ownSigner = {
    alg: "ES256",
    privateKey: (await importJWK(privateJwk, "ES256")) as TestKey["privateKey"],
    jwk: { kid },
  };
  own = await createIssuer({ issuer: platform, keys: [ownKey], clock });
  key = await testKey("ES256", "a");
  rsa = await testKey("RS256", "r");
  external = await startIssuer(key, rsa);
});
afterAll(() => external.close());

beforeEach(() => {
  nowMs = startMs;
  identities = [];
  asked = [];
  external.requests.length = 0;
  external.answers.clear();
  external.keys = [key.jwk, rsa.jwk];
  authenticator = new Authenticator({
    issuer: own,
    clock,
    keySets: createKeySets({ allowLoopbackHttp: true, clock }),
    identities: {
      keySources: async (issuer, subject) => keySourcesIn(identities, issuer, subject),
      async candidates(issuer, subject) {
        asked.push([issuer, subject]);
        return identities;
      },
      isActive: async (uid) => identities.some((identity) => identity.uid === uid),
      changes: () => changes++,
    },
    providers: noProviders,
  });
});

const noProviders = {
  hasIssuer: async () => false,
  accepting: async () => [],
  accepts: async () => undefined,
  signIn: async () => ({ providers: [], isDeferred: false }),
};

function claimMatch(uid: string, change: Partial<ClaimMatch> = {}, createTimeUs = 1): MatchableIdentity {
  return {
    uid,
    createTimeUs,
    rule: { kind: "claim_match", issuer: external.url, subject: "robot", claims: {}, claimPatterns: {}, ...change },
  };
}

function staticKeys(uid: string, change: Partial<StaticKeys> = {}, ...keys: JWK[]): MatchableIdentity {
  const issuerKeys = JSON.stringify({ keys });
  return {
    uid,
    createTimeUs: 1,
    rule: {
      kind: "static_keys",
      issuer: "https://pull.example",
      subject: "puller",
      issuerKeys,
      expireTimeMs: startMs + 1e6,
      audiences: [],
      ...change,
    },
  };
}

const claimsOf = (change: Record<string, unknown> = {}) => ({
  iss: external.url,
  sub: "robot",
  aud: platform,
  iat: nowMs / 1000,
  exp: nowMs / 1000 + 300,
  ...change,
});
const tokenOf = (change: Record<string, unknown> = {}, signer = key, header = {}) =>
  sign(signer, claimsOf(change), header);
const authenticate = async (token: string) => authenticator.authenticate(`Bearer ${token}`);

async function expectInvalid(header: string | null, text = "invalid bearer token"): Promise<void> {
  const error = await (async () => authenticator.authenticate(header))().then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(ConnectError);
  expect([error.code, error.message, error.details]).toEqual([
    Code.Unauthenticated,
    `[unauthenticated] Unauthenticated: ${text}`,
    [],
  ]);
}
const expectRefused = (token: string) => expectInvalid(`Bearer ${token}`);

describe("the header", () => {
  it.each([null, "", " "])("is missing: %j", (header) => expectInvalid(header, "missing bearer token"));

  it("may spell the scheme in any case", async () => {
    identities = [claimMatch(root)];
    const token = await tokenOf();
    for (const scheme of ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer "]) {
      expect((await authenticator.authenticate(`${scheme} ${token}`)).identities).toEqual([root]);
    }
  });

  it("must hold exactly one token", async () => {
    identities = [claimMatch(root)];
    const token = await tokenOf();
    const bad = ["Bearer ", `Bearer\t${token}`, ` Bearer ${token}`, `Bearer ${token}\n`, `Bearer ${token}\u00a0`];
    for (const header of [...bad, ...brokenHeaders(token)]) await expectInvalid(header);
  });
});

describe("our own tokens", () => {
  const uid = `${group}/${"a".repeat(16)}`;

  it("name an identity, which must exist on every call", async () => {
    identities = [claimMatch(uid)];
    const token = await own.mint({ subject: uid, ttlSeconds: 60, claims: { cap: ["repo.list"] } });
    const caller = await authenticate(token);
    expect(caller).toMatchObject({ subject: uid, identities: [uid], issuer: platform, expireTimeMs: startMs + 60_000 });
    expect(caller.claims.cap).toEqual(["repo.list"]);
    expect(asked).toEqual([]);
    identities = [];
    await expectRefused(token);
    identities = [claimMatch(uid)];
    await authenticate(token);
  });

  it("expire although they are remembered", async () => {
    identities = [claimMatch(uid)];
    const token = await own.mint({ subject: uid, ttlSeconds: 60 });
    await authenticate(token);
    nowMs += 60_000 + 59_999; // within the leeway
    await authenticate(token);
    nowMs += 1;
    await expectRefused(token);
  });

  it("are refused for another audience, from another key, or when only a rule would match", async () => {
    identities = [
      claimMatch(uid),
      claimMatch(root, { issuer: "", issuerPattern: ".*", subject: "", subjectPattern: ".*", audiencePattern: ".*" }),
    ];
    await expectRefused(await own.mint({ subject: uid, audience: "https://sink.example", ttlSeconds: 60 }));
    await expectRefused(await own.mint({ subject: uid, audience: "api.platform.example", ttlSeconds: 60 }));
    await expectRefused(await tokenOf({ iss: platform, sub: uid }));
    await expectRefused(
      await sign({ ...key, jwk: { ...key.jwk, kid: ownKey.kid } }, claimsOf({ iss: platform, sub: uid })),
    );
    await expectRefused(await own.mint({ subject: "robot", ttlSeconds: 60 }));
    expect(external.requests).toEqual([]);
  });
});

describe("tokens of other issuers", () => {
  it("speak for the identity whose rule they match", async () => {
    identities = [claimMatch(root), claimMatch(`${group}/x`, { subject: "other" })];
    const caller = await authenticate(await tokenOf({ email: "a@b.example", email_verified: true, groups: ["g"] }));
    expect(caller).toMatchObject({
      subject: userIdentityUid(external.url, "robot"),
      identities: [root],
      issuer: external.url,
      outsideIssuer: external.url,
      email: "a@b.example",
      expireTimeMs: startMs + 300_000,
    });
    expect(caller.claims.groups).toEqual(["g"]);
    expect(asked).toEqual([[external.url, "robot"]]);
  });

  it.each([
    {},
    { email_verified: false },
    { email_verified: "true" },
    { email_verified: 1 },
    { email: 1, email_verified: true },
  ])("give no email that is not verified: %j", async (claims) => {
    identities = [claimMatch(root)];
    expect(await authenticate(await tokenOf({ email: "a@b.example", ...claims }))).not.toHaveProperty("email");
  });

  it("unite all identities they match, oldest first, the one at the root last", async () => {
    const uids = async (...matching: MatchableIdentity[]) => {
      identities = matching;
      return (await authenticate(await tokenOf())).identities;
    };
    expect(await uids(claimMatch("a/1", {}, 1), claimMatch("b", {}, 9), claimMatch("c/1", {}, 5))).toEqual([
      "a/1",
      "c/1",
      "b",
    ]);
    expect(await uids(claimMatch("a/1", {}, 3), claimMatch("b/1", {}, 2), claimMatch("c/1", {}, 2))).toEqual([
      "b/1",
      "c/1",
      "a/1",
    ]);
  });

  it("are judged anew on every call, without asking the issuer again", async () => {
    identities = [claimMatch(root)];
    const token = await tokenOf();
    await authenticate(token);
    identities = [claimMatch(root, { subject: "other" })];
    await expectRefused(token);
    identities = [claimMatch(`${group}/x`, { claims: { sub: "robot" } })];
    expect((await authenticate(token)).identities).toEqual([`${group}/x`]);
    identities = [];
    await expectRefused(token);
    expect(external.requests).toEqual([discoveryPath, "/keys"]);
  });

  it("stop within ten minutes when their key is withdrawn, however long they run", async () => {
    identities = [claimMatch(root)];
    const token = await tokenOf({ exp: startMs / 1000 + 1e6 });
    await authenticate(token);
    external.keys = [rsa.jwk];
    nowMs += 10 * 60_000;
    await expectRefused(token);
  });

  it("cause no traffic unless somebody names the issuer, or has a pattern about its origin", async () => {
    identities = [
      claimMatch("a", { issuer: `${external.url}/` }),
      claimMatch("b", { issuer: "", issuerPattern: "http://127.*" }),
      claimMatch("c", { issuer: "", issuerPattern: ".*" }),
      claimMatch("d", { issuer: "", issuerPattern: "http://127\\.0\\.0\\.1:[0-9]+" }),
      claimMatch("e", { issuer: "", issuerPattern: `https://other.example|${external.url}` }),
      claimMatch("f", { issuer: "https://10.0.0.1" }),
    ];
    await expectRefused(await tokenOf());
    expect(external.requests).toEqual([]);
    identities.push(claimMatch("g", { issuer: "", issuerPattern: `${external.url.replaceAll(".", "\\.")}(/.*)?$` }));
    await expectRefused(await tokenOf());
    expect(external.requests).toEqual([]);
    identities.push(claimMatch("h", { issuer: "", issuerPattern: `^${external.url.replaceAll(".", "\\.")}$` }));
    expect((await authenticate(await tokenOf())).identities).toEqual(["h"]);
  });

  it("are compared with rules once they are verified, and cause no more traffic then", async () => {
    identities = [
      claimMatch("a", { subject: "other" }),
      claimMatch("b", { audience: "elsewhere" }),
      claimMatch("c", { subject: "", subjectPattern: "(a?){80}" }),
      claimMatch("d", { claims: { ref: "main" } }),
    ];
    for (let i = 0; i < 10; i++) await expectRefused(await tokenOf({ jti: `${i}` }));
    expect(external.requests).toEqual([discoveryPath, "/keys"]);
  });

  it("with a pattern about the origin alone, are refused after they are verified", async () => {
    identities = [claimMatch("a", { issuer: "", issuerPattern: `${external.url}/[a-z]+` })];
    await expectRefused(await tokenOf());
    expect(external.requests).toEqual([discoveryPath, "/keys"]);
  });

  it("are refused while the issuer cannot be reached", async () => {
    identities = [claimMatch(root)];
    external.answers.set(discoveryPath, { status: 500, body: "" });
    await expectRefused(await tokenOf());
    external.answers.clear();
    await expectRefused(await tokenOf());
    nowMs += 30_000;
    await authenticate(await tokenOf());
  });

  it("fail otherwise when the identities cannot be read", async () => {
    const broken = () => Promise.reject(new Error("store"));
    const keySets = createKeySets({ allowLoopbackHttp: true, clock });
    const failing = new Authenticator({
      issuer: own,
      clock,
      keySets,
      identities: { keySources: broken, candidates: broken, isActive: broken, changes: () => 0 },
      providers: noProviders,
    });
    await expect(failing.authenticate(`Bearer ${await tokenOf()}`)).rejects.toThrow(/^store$/);
    await expect(failing.authenticate(`Bearer ${await own.mint({ subject: root, ttlSeconds: 60 })}`)).rejects.toThrow(
      /^store$/,
    );
  });
});

describe("static keys", () => {
  const puller = { iss: "https://pull.example", sub: "puller" };

  it("verify without discovery", async () => {
    identities = [staticKeys("p/1", {}, key.jwk)];
    expect((await authenticate(await tokenOf(puller))).identities).toEqual(["p/1"]);
    expect(external.requests).toEqual([]);
  });

  it("end when the identity's time is over", async () => {
    identities = [staticKeys("p/1", { expireTimeMs: startMs + 1000 }, key.jwk)];
    const token = await tokenOf(puller);
    await authenticate(token);
    nowMs += 1000;
    await expectRefused(token);
  });

  it("prove nothing for another identity's keys", async () => {
    const other = await testKey("ES256", "a");
    identities = [
      staticKeys("p/1", {}, key.jwk),
      staticKeys("q/1", {}, other.jwk),
      staticKeys("r/1", { issuerKeys: "broken" }),
    ];
    const token = await tokenOf(puller);
    expect((await authenticate(token)).identities).toEqual(["p/1"]);
    identities = [staticKeys("q/1", {}, other.jwk)];
    await expectRefused(token);
    identities = [staticKeys("p/1", {}, key.jwk)];
    await authenticate(token);
  });

  it("do not vouch for an issuer that publishes its keys, nor the reverse", async () => {
    const stranger = await testKey("ES256", "a");
    identities = [staticKeys("p/1", { issuer: external.url, subject: "robot" }, stranger.jwk), claimMatch("q/1")];
    expect((await authenticate(await tokenOf({}, stranger))).identities).toEqual(["p/1"]);
    expect((await authenticate(await tokenOf())).identities).toEqual(["q/1"]);
    identities = [staticKeys("p/1", { issuer: external.url, subject: "robot", issuerKeys: "" })];
    await expectRefused(await tokenOf());
  });
});

describe("static keys beside an issuer that cannot be reached", () => {
  it("do not wait for it, once it has failed", async () => {
    identities = [staticKeys("p/1", { issuer: external.url, subject: "robot" }, key.jwk), claimMatch("q/1")];
    external.answers.set(discoveryPath, { status: 500, body: "" });
    expect((await authenticate(await tokenOf({ jti: "1" }))).identities).toEqual(["p/1"]);
    external.answers.clear();
    nowMs += 30_000;
    expect((await authenticate(await tokenOf({ jti: "2" }))).identities).toEqual(["p/1"]);
    await expect.poll(() => external.requests.length).toBeGreaterThanOrEqual(3);
    await expect.poll(async () => (await authenticate(await tokenOf({ jti: "3" }))).identities).toEqual(["p/1", "q/1"]);
  });
});

describe("forged and broken tokens", () => {
  let hand: TrustedHand;

  beforeEach(async () => {
    identities = [claimMatch(root), claimMatch("s", { subjectPattern: "robot" })];
    const [second, short] = [await testKey("ES256", "z"), await shortRsaKey("short")];
    external.keys = [key.jwk, rsa.jwk, second.jwk, short.jwk];
    hand = { key, rsa, short, claims: claimsOf(), now: startMs / 1000 };
  });

  it("are distinguished from a good one", async () => {
    await authenticate(await tokenOf());
    await authenticate(await signText(key, {}, JSON.stringify(claimsOf())));
    await authenticate(await rsaSigned(hand, "RS256", "sha256"));
  });

  it.each(Object.keys(forgedTokens))("%s", async (name) => {
    const loot = { good: await tokenOf(), other: await tokenOf({ jti: "other" }), jwk: key.jwk };
    await authenticate(loot.good); // what is remembered of it must serve no other
    await expectRefused(await forgedTokens[name]!(loot));
    await authenticate(await tokenOf({}, rsa));
  });

  it.each(Object.keys(misissuedTokens))("%s", async (name) => {
    await expectRefused(await misissuedTokens[name]!(hand));
    await authenticate(await tokenOf({}, rsa));
  });

  /** The challenge of a refusal, and its cause. */
  async function refusal(header: string | null): Promise<[challenge: string | null, cause: string | undefined]> {
    const error = await (async () => authenticator.authenticate(header))().catch((reason) => reason);
    expect(error.rawMessage).toBe(
      header === null ? "Unauthenticated: missing bearer token" : "Unauthenticated: invalid bearer token",
    );
    return [error.metadata.get("www-authenticate"), error.cause?.message];
  }
  const invalid = 'Bearer error="invalid_token"';

  it("are refused in the same words, the reason kept for the log", async () => {
    const stranger = await testKey("ES256", "a");
    const causes = {
      "signature not verified": await tokenOf({}, stranger),
      "no identity or provider matches it": await tokenOf({ iss: "https://other.example" }),
      "not three parts": "a.b",
      "keys were fetched a moment ago": await tokenOf({}, await testKey("ES256", "unknown")),
    };
    for (const [cause, token] of Object.entries(causes))
      expect(await refusal(`Bearer ${token}`)).toEqual([invalid, cause]);
    expect(await refusal(`Bearer ${await tokenOf({ sub: "nobody" })}`)).toEqual([
      invalid,
      "no identity or provider matches it",
    ]);
    expect(await refusal(`Bearer ${await tokenOf({ exp: 1 }, stranger)}`)).toEqual([invalid, "signature not verified"]);
    expect(await refusal(`Bearer ${await tokenOf({ exp: 1, iss: "https://other.example" })}`)).toEqual([
      invalid,
      "no identity or provider matches it",
    ]);
  });

  it("say of a genuine token what it says itself", async () => {
    const now = startMs / 1000;
    const described = (misfit: string) => [`${invalid}, error_description="the token is ${misfit}"`, misfit];
    for (const tokenWith of [
      (change: Record<string, unknown>) => tokenOf(change),
      (change: Record<string, unknown>) => sign(ownSigner, { ...claimsOf(), iss: platform, ...change }),
    ]) {
      expect(await refusal(`Bearer ${await tokenWith({ exp: now - 60 })}`)).toEqual(described("expired"));
      expect(await refusal(`Bearer ${await tokenWith({ nbf: now + 61 })}`)).toEqual(described("not yet valid"));
      expect(await refusal(`Bearer ${await tokenWith({ iat: now + 61 })}`)).toEqual(described("not yet valid"));
      expect(await refusal(`Bearer ${await tokenWith({ aud: ["a", "b"] })}`)).toEqual(
        described("for another audience"),
      );
    }
  });

  it("are distinguished from a missing token (RFC 6750, 3.1)", async () => {
    expect(await refusal(null)).toEqual(["Bearer", undefined]);
    for (const header of ["Basic YTpi", "Bearerx a.b.c", await tokenOf()])
      expect(await refusal(header)).toEqual(["Bearer", "not a bearer token"]);
    for (const header of ["Bearer", "bearer x y"])
      expect(await refusal(header)).toEqual([invalid, "not a bearer token"]);
  });

  it("do not push verified tokens out", async () => {
    const good = await tokenOf();
    await authenticate(good);
    external.requests.length = 0;
    for (let i = 0; i < 200; i++) await expectRefused(forge({ alg: "ES256", kid: "a" }, claimsOf({ jti: `${i}` })));
    await authenticate(good);
    expect(external.requests).toEqual([]);
  });
});
