/**
 * The platform's own OpenID Connect issuer. Tokens are signed with ES256. There may be several keys: the newest signs, all verify, so that a
 * new key can be published before the tokens of the old one have run out. The caller stores the keys; nothing here writes.
 */
import { randomUUID } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { parseKeySet } from "./key-set.ts";
import { checkPeriod, parseToken, type Token, TokenRejected } from "./token.ts";

/** A signing key as it is stored; JSON. Whoever reads it can sign. */
export interface StoredKey {
  /** The key's thumbprint (RFC 7638). */
  readonly kid: string;
  readonly privateJwk: JWK;
  /** RFC 3339. */
  readonly createTime: string;
}

/** What a token of ours says. */
export interface MintRequest {
  /** uid of an identity. */
  readonly subject: string;
  /** Our own API when unset. */
  readonly audience?: string | readonly string[];
  readonly ttlSeconds: number;
  /** Further claims; the registered ones are not among them. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** Signs tokens, publishes the keys, verifies what it signed. */
export interface Issuer {
  /** The value of `iss`. */
  readonly url: string;
  mint(request: MintRequest): Promise<string>;
  /** The document at `/.well-known/jwks.json`. */
  jwks(): { readonly keys: readonly JWK[] };
  /** The document at `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0, 3). */
  discovery(): Readonly<Record<string, unknown>>;
  /**
   * The token, if it is ours, meant for our own API, and valid now.
   *
   * Errors: {@link TokenRejected}.
   */
  verify(token: Token | string): Promise<Token>;
}

/** What {@link createIssuer} needs. */
export interface IssuerOptions {
  /** A URL without query or fragment. */
  readonly issuer: string;
  /** At least one. */
  readonly keys: readonly StoredKey[];
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Named in the discovery document when set. */
  readonly tokenEndpoint?: string;
}

const algorithm = "ES256";
const registeredClaims = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];

/** Makes a new signing key. */
export async function generateSigningKey(clock: () => number = Date.now): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const privateJwk = await exportJWK(privateKey);
  return { kid: await calculateJwkThumbprint(privateJwk), privateJwk, createTime: new Date(clock()).toISOString() };
}

/** The issuer of these keys. Fails when a key cannot be used. */
export async function createIssuer({ issuer, keys, clock, tokenEndpoint }: IssuerOptions): Promise<Issuer> {
  const newestFirst = [...keys].sort((a, b) => Date.parse(b.createTime) - Date.parse(a.createTime));
  const signing = newestFirst[0];
  if (signing === undefined) throw new Error("an issuer needs a signing key");
  const privateKey = await importJWK(signing.privateJwk, algorithm);
  const published = { keys: newestFirst.map(publicJwk) };
  const keySet = parseKeySet(JSON.stringify(published));
  const base = issuer.replace(/\/$/, "");

  return {
    url: issuer,
    jwks: () => published,
    discovery: () => ({
      issuer,
      jwks_uri: `${base}/.well-known/jwks.json`,
      ...(tokenEndpoint !== undefined && { token_endpoint: tokenEndpoint }),
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [algorithm],
    }),
    async mint({ subject, audience = issuer, ttlSeconds, claims = {} }) {
      const reserved = registeredClaims.find((name) => name in claims);
      if (reserved !== undefined) throw new Error(`the claim ${reserved} cannot be set`);
      const issuedAt = Math.floor(clock() / 1000);
      return await new SignJWT({ ...claims })
        .setProtectedHeader({ alg: algorithm, kid: signing.kid, typ: "JWT" })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(typeof audience === "string" ? audience : [...audience])
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ttlSeconds)
        .setJti(randomUUID())
        .sign(privateKey);
    },
    async verify(given) {
      const token = typeof given === "string" ? parseToken(given) : given;
      if (token.claims.iss !== issuer || !token.audiences.includes(issuer))
        throw new TokenRejected("not ours, or not for us");
      checkPeriod(token.claims, clock());
      await keySet.verify(token);
      return token;
    },
  };
}

function publicJwk({ kid, privateJwk: { kty, crv, x, y } }: StoredKey): JWK {
  return { kty, crv, x, y, kid, alg: algorithm, use: "sig" } as JWK;
}
