/**
 * The OpenID Connect issuer of the platform. Tokens are signed with ES256. There may be several keys: one signs, and
 * all that have not retired verify and are published (see `signing-keys.ts`). The caller stores the keys; nothing here
 * writes. Keys that another process adds are read within 30 s, or at once when a token names one.
 */
import { randomUUID } from "node:crypto";
import { importJWK, type JWK, SignJWT } from "jose";
import { type KeySet, parseKeySet, UnknownKey } from "./key-set.ts";
import { keyReadIntervalMs, keysAt, maxTokenLifeSeconds, type StoredKey, signingAlgorithm } from "./signing-keys.ts";
import { checkPeriod, maxTokenLength, parseToken, type Token, TokenMisfit, TokenRejected } from "./token.ts";

/** The content of a new platform token. */
interface MintRequest {
  /** uid of an identity. */
  readonly subject: string;
  /** The own API of the platform when absent. */
  readonly audience?: string | readonly string[];
  /** At most {@link maxTokenLifeSeconds}. */
  readonly ttlSeconds: number;
  /** More claims, none of them a registered one. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** The token would be longer than any that is accepted. */
export class TokenTooLong extends Error {
  override readonly name = "TokenTooLong";
}

/** Signs tokens, publishes the keys, and verifies tokens that it signed. */
export interface Issuer {
  /** The value of `iss`. */
  readonly url: string;
  /** Errors: {@link TokenTooLong}. */
  mint(request: MintRequest): Promise<string>;
  /** The document at `/.well-known/jwks.json`. */
  jwks(): Promise<{ readonly keys: readonly JWK[] }>;
  /** The document at `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0, 3; RFC 8414, 2). */
  discovery(): Readonly<Record<string, unknown>>;
  /**
   * Verifies a platform token: signed here, for the own API, and valid now.
   *
   * Errors: {@link TokenRejected}.
   */
  verify(token: Token | string): Promise<Token>;
}

/** What {@link createIssuer} needs. */
interface IssuerOptions {
  /** A URL without query or fragment. */
  readonly issuer: string;
  /** At least one. */
  readonly keys: readonly StoredKey[];
  /** Reads the stored keys; when absent, the keys never change. */
  readonly readKeys?: () => Promise<readonly StoredKey[]>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** The keys, prepared for use. */
interface KeyRing {
  readonly signingKid: string;
  readonly privateKey: Awaited<ReturnType<typeof importJWK>>;
  readonly published: { readonly keys: readonly JWK[] };
  readonly keySet: KeySet;
}

const registeredClaims = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];
/** The stored keys are read at most this often because of tokens that name an unknown key. */
const unknownKeyIntervalMs = 1000;

/** Creates the issuer with these keys. Errors: a plain Error when a key cannot be used. */
export async function createIssuer({ issuer, keys, readKeys, clock }: IssuerOptions): Promise<Issuer> {
  let ring = await ringOf(keys, clock());
  let readTimeMs = clock();
  let reading: Promise<KeyRing> | undefined;
  const base = issuer.replace(/\/$/, "");

  /** The keys as they were stored at most `maxAgeMs` ago. */
  async function ringNow(maxAgeMs = keyReadIntervalMs): Promise<KeyRing> {
    if (clock() - readTimeMs < maxAgeMs) return ring;
    reading ??= readRing().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readRing(): Promise<KeyRing> {
    const nowMs = clock();
    ring = await ringOf((await readKeys?.()) ?? keys, nowMs);
    readTimeMs = nowMs;
    return ring;
  }

  return {
    url: issuer,
    jwks: async () => (await ringNow()).published,
    discovery: () => ({
      issuer,
      jwks_uri: `${base}/.well-known/jwks.json`,
      token_endpoint: `${base}/sts/exchange`,
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint: `${base}/sts/revoke`,
      revocation_endpoint_auth_methods_supported: ["none"],
      grant_types_supported: ["urn:ietf:params:oauth:grant-type:token-exchange", "refresh_token"],
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [signingAlgorithm],
    }),
    async mint({ subject, audience = issuer, ttlSeconds, claims = {} }) {
      const reserved = registeredClaims.find((name) => name in claims);
      if (reserved !== undefined) throw new Error(`the claim ${reserved} cannot be set`);
      if (ttlSeconds > maxTokenLifeSeconds) throw new Error("a token cannot outlive the key that signed it");
      const { signingKid, privateKey } = await ringNow();
      const issuedAt = Math.floor(clock() / 1000);
      const token = await new SignJWT({ ...claims })
        .setProtectedHeader({ alg: signingAlgorithm, kid: signingKid, typ: "JWT" })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(typeof audience === "string" ? audience : [...audience])
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ttlSeconds)
        .setJti(randomUUID())
        .sign(privateKey);
      if (token.length > maxTokenLength) throw new TokenTooLong(`${token.length} characters`);
      return token;
    },
    async verify(given) {
      const token = typeof given === "string" ? parseToken(given) : given;
      if (token.claims.iss !== issuer) throw new TokenRejected("not ours");
      try {
        await (await ringNow()).keySet.verify(token);
      } catch (error) {
        if (!(error instanceof UnknownKey)) throw error;
        await (await ringNow(unknownKeyIntervalMs)).keySet.verify(token);
      }
      checkPeriod(token.claims, clock());
      if (!token.audiences.includes(issuer)) throw new TokenMisfit("for another audience");
      return token;
    },
  };
}

async function ringOf(keys: readonly StoredKey[], nowMs: number): Promise<KeyRing> {
  const usable = keysAt(keys, nowMs).filter(({ state }) => state !== "retired");
  const signing = usable.find(({ state }) => state === "signing")?.key;
  if (signing === undefined) throw new Error("an issuer needs a signing key");
  const published = { keys: usable.map(({ key }) => publicJwk(key)) };
  return {
    signingKid: signing.kid,
    privateKey: await importJWK(signing.privateJwk, signingAlgorithm),
    published,
    keySet: parseKeySet(JSON.stringify(published)),
  };
}

function publicJwk({ kid, privateJwk: { kty, crv, x, y } }: StoredKey): JWK {
  return { kty, crv, x, y, kid, alg: signingAlgorithm, use: "sig" } as JWK;
}
