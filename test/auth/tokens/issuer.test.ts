import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createIssuer, type Issuer, TokenTooLong } from "../../../src/auth/tokens/issuer.ts";
import {
  generateSigningKey,
  keyReadIntervalMs,
  maxTokenLifeSeconds,
  publicationMs,
  type StoredKey,
} from "../../../src/auth/tokens/signing-keys.ts";
import { TokenRejected } from "../../../src/auth/tokens/token.ts";
import { sign, startMs, testKey } from "../local-issuer.ts";

const url = "https://api.platform.example";
let nowMs = startMs;
const clock = () => nowMs;
const make = (...keys: StoredKey[]) => createIssuer({ issuer: url, keys, clock });
let oldKey: StoredKey;
let newKey: StoredKey;
let issuer: Issuer;

beforeAll(async () => {
  oldKey = await generateSigningKey(() => startMs - publicationMs - 1000);
  newKey = await generateSigningKey(() => startMs - publicationMs);
  issuer = await make(oldKey, newKey);
});

describe("mint", () => {
  it("gives a token any OIDC client can verify", async () => {
    const text = await issuer.mint({ subject: "0".repeat(40), ttlSeconds: 3600, claims: { cap: ["a"] } });
    const { keys } = await issuer.jwks();
    const { payload } = await jwtVerify(text, createLocalJWKSet({ keys: [...keys] }), {
      issuer: url,
      audience: url,
      currentDate: new Date(nowMs),
    });
    expect(payload).toMatchObject({ sub: "0".repeat(40), iat: startMs / 1000, exp: startMs / 1000 + 3600, cap: ["a"] });
    expect(decodeProtectedHeader(text)).toEqual({ alg: "ES256", kid: newKey.kid, typ: "JWT" });
  });

  it("never repeats a token", async () => {
    const request = { subject: "a", ttlSeconds: 60 };
    expect(decodeJwt(await issuer.mint(request)).jti).not.toBe(decodeJwt(await issuer.mint(request)).jti);
  });

  it.each(["iss", "sub", "aud", "exp", "nbf", "iat", "jti"])("does not let claims set %s", (name) =>
    expect(issuer.mint({ subject: "a", ttlSeconds: 60, claims: { [name]: "x" } })).rejects.toThrow(),
  );
});

describe("mint, within bounds", () => {
  it("makes no token that nobody would accept", () =>
    expect(issuer.mint({ subject: "a", ttlSeconds: 60, claims: { groups: "a".repeat(8192) } })).rejects.toThrow(
      TokenTooLong,
    ));

  it("makes no token that outlives its key", async () => {
    await issuer.mint({ subject: "a", ttlSeconds: maxTokenLifeSeconds });
    await expect(issuer.mint({ subject: "a", ttlSeconds: maxTokenLifeSeconds + 1 })).rejects.toThrow();
  });
});

describe("keys that another process adds", () => {
  let stored: StoredKey[];
  let reads: number;
  const start = () =>
    createIssuer({
      issuer: url,
      keys: stored,
      clock,
      readKeys: async () => {
        reads++;
        return stored;
      },
    });
  const kidsOf = async (one: Issuer) => (await one.jwks()).keys.map(({ kid }) => kid);
  const kidOf = async (one: Issuer) => decodeProtectedHeader(await one.mint({ subject: "a", ttlSeconds: 60 })).kid;
  beforeEach(() => {
    nowMs = startMs;
    stored = [oldKey];
    reads = 0;
  });
  afterEach(() => {
    nowMs = startMs;
  });

  it("are published within 30 s and sign later", async () => {
    const running = await start();
    const added = await generateSigningKey(clock);
    stored = [oldKey, added];
    nowMs = startMs + keyReadIntervalMs - 1;
    expect(await kidsOf(running)).toEqual([oldKey.kid]);
    nowMs = startMs + keyReadIntervalMs;
    expect(await kidsOf(running)).toEqual([added.kid, oldKey.kid]);
    nowMs = startMs + publicationMs - 1;
    expect(await kidOf(running)).toBe(oldKey.kid);
    nowMs = startMs + publicationMs + keyReadIntervalMs;
    expect(await kidOf(running)).toBe(added.kid);
    expect(await kidsOf(running)).toEqual([added.kid, oldKey.kid]);
    nowMs = startMs + publicationMs + maxTokenLifeSeconds * 1000;
    expect(await kidsOf(running)).toEqual([added.kid]);
  });

  it("are looked for at once when a token names one, but not for every such token", async () => {
    const running = await start();
    nowMs = startMs + 1000;
    const ofNew = await (await make(newKey)).mint({ subject: "a", ttlSeconds: 60 });
    stored = [oldKey, newKey];
    await running.verify(ofNew);
    expect(reads).toBe(1);
    const unknown = await (await make(await generateSigningKey(clock))).mint({ subject: "a", ttlSeconds: 60 });
    for (let i = 0; i < 5; i++) await expect(running.verify(unknown)).rejects.toThrow(TokenRejected);
    expect(reads).toBe(1);
    nowMs = startMs + 2000;
    await Promise.all([1, 2, 3].map(() => expect(running.verify(unknown)).rejects.toThrow(TokenRejected)));
    expect(reads).toBe(2);
  });

  it("are dropped when they are gone", async () => {
    stored = [oldKey, newKey];
    const running = await start();
    const ofOld = await (await make(oldKey)).mint({ subject: "a", ttlSeconds: 3600 });
    await running.verify(ofOld);
    stored = [newKey];
    nowMs = startMs + keyReadIntervalMs;
    await expect(running.verify(ofOld)).rejects.toThrow(TokenRejected);
  });
});

describe("verify", () => {
  it("accepts what it minted until it expires", async () => {
    const text = await issuer.mint({ subject: "a", ttlSeconds: 60 });
    expect((await issuer.verify(text)).claims.sub).toBe("a");
    nowMs = startMs + 60_000 + 59_999; // within the leeway
    await issuer.verify(text);
    nowMs += 1;
    await expect(issuer.verify(text)).rejects.toThrow(TokenRejected);
    nowMs = startMs;
  });

  it("accepts tokens of every key it has and of no other", async () => {
    const request = { subject: "a", ttlSeconds: 60 };
    const ofOld = await (await make(oldKey)).mint(request);
    const ofNew = await (await make(newKey)).mint(request);
    await issuer.verify(ofOld);
    await issuer.verify(ofNew);
    await expect((await make(newKey)).verify(ofOld)).rejects.toThrow(TokenRejected);
  });

  it("refuses tokens for others", async () => {
    await expect(
      issuer.verify(await issuer.mint({ subject: "a", audience: "https://sink.example", ttlSeconds: 60 })),
    ).rejects.toThrow(TokenRejected);
    await issuer.verify(await issuer.mint({ subject: "a", audience: ["https://sink.example", url], ttlSeconds: 60 }));
  });

  it("refuses another issuer's token, even under our name and kid", async () => {
    const claims = { iss: url, sub: "a", aud: url, exp: startMs / 1000 + 60 };
    for (const alg of ["ES256", "RS256", "EdDSA"]) {
      await expect(issuer.verify(await sign(await testKey(alg, newKey.kid), claims))).rejects.toThrow(TokenRejected);
    }
    const other = await createIssuer({ issuer: "https://other.example", keys: [newKey], clock });
    await expect(issuer.verify(await other.mint({ subject: "a", audience: url, ttlSeconds: 60 }))).rejects.toThrow(
      TokenRejected,
    );
  });
});

describe("documents", () => {
  it("publishes public halves only", async () => {
    const published = (await issuer.jwks()).keys;
    expect(published.map(({ kid }) => kid)).toEqual([newKey.kid, oldKey.kid]);
    for (const jwk of published) expect(Object.keys(jwk).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
  });

  it("describes itself as OpenID Connect Discovery asks", async () => {
    expect(issuer.discovery()).toEqual({
      issuer: url,
      jwks_uri: `${url}/.well-known/jwks.json`,
      token_endpoint: `${url}/sts/exchange`,
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint: `${url}/sts/revoke`,
      revocation_endpoint_auth_methods_supported: ["none"],
      grant_types_supported: ["urn:ietf:params:oauth:grant-type:token-exchange", "refresh_token"],
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
    });
    const withSlash = await createIssuer({ issuer: `${url}/`, keys: [newKey], clock });
    expect(withSlash.discovery()).toMatchObject({
      issuer: `${url}/`,
      jwks_uri: `${url}/.well-known/jwks.json`,
      token_endpoint: `${url}/sts/exchange`,
    });
  });

  it("stores keys as JSON", async () => {
    const restored: StoredKey = JSON.parse(JSON.stringify(newKey));
    await issuer.verify(await (await make(restored)).mint({ subject: "a", ttlSeconds: 60 }));
  });

  it("needs a key", () => expect(make()).rejects.toThrow());
});
