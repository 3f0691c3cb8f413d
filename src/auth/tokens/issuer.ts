/**
 * The OpenID Connect issuer of the platform. Tokens are signed with ES256. There may be several keys: one signs, and
 * all that have not retired verify and are published (see `signing-keys.ts`). The caller stores the keys; nothing here
 * writes. Keys that another process adds are read within 30 s, or at once when a token names one. Keys that it revokes
 * are refused with the next call.
 */
import { randomUUID } from "node:crypto";
import { importJWK, type JWK, SignJWT } from "jose";
import { type Awaitable, chain } from "../../awaitable.ts";
import { unavailable } from "../../errors.ts";
import { type KeySet, parseKeySet, UnknownKey } from "./key-set.ts";
import { keyReadIntervalMs, keysAt, maxTokenLifeSeconds, type SigningKey, signingAlgorithm } from "./signing-keys.ts";
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
  /** Errors: {@link TokenTooLong}; UNAVAILABLE if every key that could sign is revoked. */
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
  /** Whether the key of a token that was verified before still verifies. Costs nothing until keys may have changed. */
  stillVerifies(token: Token, nowMs: number): Awaitable<boolean>;
}

/** What {@link createIssuer} needs. */
interface IssuerOptions {
  /** A URL without query or fragment. */
  readonly issuer: string;
  /** At least one. */
  readonly keys: readonly SigningKey[];
  /** Reads the keys; when absent, the keys never change. */
  readonly readKeys?: () => Promise<readonly SigningKey[]>;
  /** A number that differs, for all processes, once a key has been revoked. It is asked for on every use of a key. */
  readonly changes?: () => Awaitable<number>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** The keys, prepared for use. */
interface KeyRing {
  /** undefined if every key that could sign is revoked. */
  readonly signing: { readonly kid: string; readonly privateKey: Awaited<ReturnType<typeof importJWK>> } | undefined;
  readonly published: { readonly keys: readonly JWK[] };
  readonly kids: ReadonlySet<string>;
  readonly keySet: Pick<KeySet, "verify">;
}

/** The keys as they were at a time, and when `changes` had this value. */
interface KeysRead {
  readonly ring: KeyRing;
  readonly timeMs: number;
  readonly changes: number;
}

/** The value of `changes` before any was read. */
const unchanged = -1;
const registeredClaims = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];
/** The stored keys are read at most this often because of tokens that name an unknown key. */
const unknownKeyIntervalMs = 1000;

/** Creates the issuer with these keys. Errors: a plain Error when a key cannot be used. */
export async function createIssuer({
  issuer,
  keys,
  readKeys = async () => keys,
  changes = () => unchanged,
  clock,
}: IssuerOptions): Promise<Issuer> {
  if (keys.length === 0) throw new Error("an issuer needs a key");
  let latest: KeysRead = { ring: await ringOf(keys, clock()), timeMs: clock(), changes: unchanged };
  let reading: { readonly changes: number; readonly read: Promise<KeysRead> } | undefined;
  const base = issuer.replace(/\/$/, "");

  /** Whether the latest keys are without those that are revoked, and with those that were added `maxAgeMs` ago. */
  const isLatest = (current: Awaitable<number>, nowMs: number, maxAgeMs: number) =>
    latest.changes === current && nowMs - latest.timeMs < maxAgeMs;

  const ringNow = (maxAgeMs = keyReadIntervalMs) => ringAt(changes(), maxAgeMs);

  /** The latest keys. `now`: the changes by now. */
  function ringAt(now: Awaitable<number>, maxAgeMs = keyReadIntervalMs): Awaitable<KeyRing> {
    return chain(now, (current) => {
      if (isLatest(current, clock(), maxAgeMs)) return latest.ring;
      if (reading?.changes !== current) {
        const read = readRing(current).finally(() => {
          if (reading?.read === read) reading = undefined;
        });
        reading = { changes: current, read };
      }
      return reading.read.then(({ ring }) => ring);
    });
  }

  async function readRing(current: number): Promise<KeysRead> {
    const timeMs = clock();
    latest = { ring: await ringOf(await readKeys(), timeMs, latest.ring), timeMs, changes: current };
    return latest;
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
      const { signing } = await ringNow();
      if (signing === undefined) throw unavailable("no key can sign: add one, since those that could are revoked");
      const issuedAt = Math.floor(clock() / 1000);
      const token = await new SignJWT({ ...claims })
        .setProtectedHeader({ alg: signingAlgorithm, kid: signing.kid, typ: "JWT" })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(typeof audience === "string" ? audience : [...audience])
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ttlSeconds)
        .setJti(randomUUID())
        .sign(signing.privateKey);
      if (token.length > maxTokenLength) throw new TokenTooLong(`${token.length} characters`);
      return token;
    },
    async verify(given) {
      const token = typeof given === "string" ? parseToken(given) : given;
      if (token.claims.iss !== issuer) throw new TokenRejected("not ours");
      if (token.keyId === undefined) throw new TokenRejected("does not name its key");
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
    stillVerifies({ keyId }, nowMs) {
      const current = changes();
      if (isLatest(current, nowMs, keyReadIntervalMs)) return isKid(latest.ring, keyId);
      return chain(ringAt(current), (ring) => isKid(ring, keyId));
    },
  };
}

function isKid({ kids }: KeyRing, keyId: string | undefined): boolean {
  return keyId !== undefined && kids.has(keyId);
}

/** The ring of the keys; `before`, if it has the same. */
async function ringOf(keys: readonly SigningKey[], nowMs: number, before?: KeyRing): Promise<KeyRing> {
  const usable = keysAt(keys, nowMs).filter(({ state }) => state !== "retired");
  const signing = usable.find(({ state }) => state === "signing")?.key;
  const kids = usable.map(({ key }) => key.kid);
  if (before !== undefined && before.signing?.kid === signing?.kid && String([...before.kids]) === String(kids))
    return before;
  const published = { keys: usable.map(({ key }) => publicJwk(key)) };
  return {
    signing: signing && { kid: signing.kid, privateKey: await importJWK(signing.privateJwk, signingAlgorithm) },
    published,
    kids: new Set(kids),
    keySet: kids.length === 0 ? emptyKeySet : parseKeySet(JSON.stringify(published)),
  };
}

const emptyKeySet: Pick<KeySet, "verify"> = {
  async verify() {
    throw new UnknownKey("every key is revoked");
  },
};

function publicJwk({ kid, privateJwk: { kty, crv, x, y } }: SigningKey): JWK {
  return { kty, crv, x, y, kid, alg: signingAlgorithm, use: "sig" } as JWK;
}
