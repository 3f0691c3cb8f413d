/**
 * JSON Web Key Sets (RFC 7517) for the verification of signatures. These keys of a published set are used: public RSA
 * keys of 2048 to 8192 bits, EC keys on P-256 or P-384, and Ed25519 keys, if `use` and `key_ops` allow signatures.
 * Ignored are symmetric keys, keys with a private member, weaker keys, and certificates (`x5c`, `x5u`). In a set that a
 * caller gives, private members and weak keys are errors.
 *
 * A token must name its key by `kid`, unless exactly one key of the set fits its algorithm (OpenID Connect Core, 10.1).
 */
import {
  constants,
  createHash,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  type SigningOptions,
  verify,
} from "node:crypto";
import { type SignatureAlgorithm, type Token, TokenRejected } from "./token.ts";

/** The set does not have the key that the token names. A newer set may have it. */
export class UnknownKey extends TokenRejected {
  override readonly name = "UnknownKey";
}

/** How a token names its key. */
export type Signed = Pick<Token, "algorithm" | "keyId">;

/** The key of a set that may have signed a token. */
export interface FittingKey {
  /** RFC 7638, with SHA-256: the same for the same key in every set. */
  readonly thumbprint: string;
  /** Whether it has signed the token. Errors: {@link TokenRejected} for a key that is not valid. */
  hasSigned(): boolean;
}

/** The keys of one issuer. */
export interface KeySet {
  /**
   * Verifies the signature only.
   *
   * Errors: {@link UnknownKey}, {@link TokenRejected}.
   */
  verify(token: Token): Promise<void>;
  /** Finds the key of a token. Errors: {@link UnknownKey}, {@link TokenRejected}. */
  keyOf(token: Token): FittingKey;
  /** The thumbprint of the key that a token names so. Errors: as for `keyOf`. */
  thumbprintFor(signed: Signed): string;
}

const maxKeys = 100;
const minRsaBits = 2048;
const maxRsaBits = 8192;
const maxRsaExponentBytes = 3; // larger ones make verification slow and have no use
/** The members of private keys (RFC 7518, 6.2.2 and 6.3.2; RFC 8037, 2) and symmetric ones (RFC 7518, 6.4). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
const publicMembers = ["kty", "kid", "alg", "use", "key_ops", "n", "e", "crv", "x", "y"] as const;

/** The public members of a key, and its use. */
interface PublicKey extends JsonWebKey {
  readonly kid?: unknown;
  readonly alg?: unknown;
  readonly use?: unknown;
  readonly key_ops?: unknown;
}

/** How a signature is verified (RFC 7518, 3; RFC 8037, 3.1), and the type of its key. */
interface Algorithm {
  readonly kty: string;
  readonly crv?: string;
  readonly digest: string | null;
  readonly options: SigningOptions;
}

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const rsa = (bits: number, options: SigningOptions): Algorithm => ({ kty: "RSA", digest: `sha${bits}`, options });
const ecdsa = (crv: string, bits: number): Algorithm => {
  return { kty: "EC", crv, digest: `sha${bits}`, options: { dsaEncoding: "ieee-p1363" } };
};
const algorithms: Readonly<Record<SignatureAlgorithm, Algorithm>> = {
  RS256: rsa(256, { padding: constants.RSA_PKCS1_PADDING }),
  RS384: rsa(384, { padding: constants.RSA_PKCS1_PADDING }),
  RS512: rsa(512, { padding: constants.RSA_PKCS1_PADDING }),
  PS256: rsa(256, pss),
  PS384: rsa(384, pss),
  PS512: rsa(512, pss),
  ES256: ecdsa("P-256", 256),
  ES384: ecdsa("P-384", 384),
  EdDSA: { kty: "OKP", crv: "Ed25519", digest: null, options: {} },
};

/**
 * Reads the text of a key set. At least one key must be usable.
 *
 * Errors: {@link TokenRejected}.
 */
export function parseKeySet(text: string): KeySet {
  const keys = usableKeys(text);
  const imported = new Map<PublicKey, KeyObject>();

  function importedKey(jwk: PublicKey): KeyObject {
    const key = imported.get(jwk) ?? importKey(jwk);
    imported.set(jwk, key);
    return key;
  }

  function fittingKey(token: Signed): PublicKey {
    const [jwk, ...others] = keys.filter((jwk) => fits(jwk, token));
    if (jwk === undefined) throw new UnknownKey("no such key");
    if (others.length > 0) throw new TokenRejected("several keys fit");
    return jwk;
  }

  return {
    async verify(token) {
      if (!isSigned(token, importedKey(fittingKey(token)))) throw new TokenRejected("signature not verified");
    },
    keyOf(token) {
      const jwk = fittingKey(token);
      return { thumbprint: thumbprintOf(jwk), hasSigned: () => isSigned(token, importedKey(jwk)) };
    },
    thumbprintFor: (signed) => thumbprintOf(fittingKey(signed)),
  };
}

/** The members that identify a key, in the order of RFC 7638, 3.2, and RFC 8037, 2. */
const identifyingMembers = ["crv", "e", "kty", "n", "x", "y"] as const;

function thumbprintOf(jwk: PublicKey): string {
  const members = identifyingMembers.filter((name) => jwk[name] !== undefined).map((name) => [name, jwk[name]]);
  return createHash("sha256")
    .update(JSON.stringify(Object.fromEntries(members)))
    .digest("base64url");
}

/** Whether a key is the one that a token names, or may have signed it. */
function fits({ kty, crv, kid, alg, use, key_ops: operations }: PublicKey, { algorithm, keyId }: Signed): boolean {
  const { kty: neededType, crv: neededCurve } = algorithms[algorithm];
  return (
    kty === neededType &&
    (neededCurve === undefined || crv === neededCurve) &&
    (keyId === undefined || kid === keyId) &&
    (alg === undefined || alg === algorithm) &&
    (use === undefined || use === "sig") &&
    (operations === undefined || (Array.isArray(operations) && operations.includes("verify")))
  );
}

/** Verifies on this thread. The transfer to another thread costs more than a signature, except one of P-384. */
function isSigned({ text, algorithm }: Token, key: KeyObject): boolean {
  const { digest, options } = algorithms[algorithm];
  const end = text.lastIndexOf(".");
  const signature = Buffer.from(text.slice(end + 1), "base64url");
  return verify(digest, Buffer.from(text.slice(0, end)), { key, ...options }, signature);
}

function importKey(jwk: PublicKey): KeyObject {
  try {
    return createPublicKey({ key: jwk, format: "jwk" });
  } catch (cause) {
    throw new TokenRejected("key is not valid", { cause });
  }
}

/**
 * Checks a key set that a caller gives. Beyond the requirements of {@link parseKeySet}, no key may have a private
 * member or be too weak, and usable keys must be valid.
 *
 * Errors: {@link TokenRejected}, whose message says what is wrong.
 */
export function checkKeySet(text: string): void {
  for (const [i, key] of publishedKeys(text).entries()) {
    const fault = isObject(key) ? (exposureOf(key) ?? weaknessOf(key)) : "is not an object";
    if (fault !== undefined) throw new TokenRejected(`keys[${i}] ${fault}`);
    if (isUsable(key) && !isValid(publicPart(key))) throw new TokenRejected(`keys[${i}] is not a valid key`);
  }
  usableKeys(text);
}

function publishedKeys(text: string): readonly unknown[] {
  let set: { keys?: unknown } | null;
  try {
    set = JSON.parse(text);
  } catch (cause) {
    throw new TokenRejected("key set is not JSON", { cause });
  }
  const published = set?.keys;
  if (!Array.isArray(published) || published.length > maxKeys)
    throw new TokenRejected(`not a set of at most ${maxKeys} keys`);
  return published;
}

function usableKeys(text: string): PublicKey[] {
  const keys = publishedKeys(text).filter(isUsable).map(publicPart);
  if (keys.length === 0) throw new TokenRejected("key set without a usable key");
  return keys;
}

function publicPart(jwk: Record<string, unknown>): PublicKey {
  return Object.fromEntries(publicMembers.filter((m) => jwk[m] !== undefined).map((m) => [m, jwk[m]]));
}

/** Other faults (form of members, points off the curve) fail when the key is imported. */
function isUsable(jwk: unknown): jwk is Record<string, unknown> {
  if (!isObject(jwk) || exposureOf(jwk) !== undefined || weaknessOf(jwk) !== undefined) return false;
  const { kty, crv } = jwk;
  return (
    kty === "RSA" || (kty === "EC" && (crv === "P-256" || crv === "P-384")) || (kty === "OKP" && crv === "Ed25519")
  );
}

function exposureOf(jwk: Record<string, unknown>): string | undefined {
  const exposed = privateMembers.find((name) => Object.hasOwn(jwk, name));
  return exposed === undefined ? undefined : `has the private member ${JSON.stringify(exposed)}`;
}

/** Why an RSA key is too weak, or too slow to verify with. */
function weaknessOf({ kty, n, e }: Record<string, unknown>): string | undefined {
  if (kty !== "RSA") return undefined;
  const [modulus, exponent] = [bytesOf(n), bytesOf(e)];
  const bits = modulus.length === 0 ? 0 : modulus.length * 8 - Math.clz32(modulus[0]!) + 24;
  if (bits < minRsaBits || bits > maxRsaBits) return `has ${bits} bits, not ${minRsaBits} to ${maxRsaBits}`;
  const isOdd = ((exponent.at(-1) ?? 0) & 1) === 1;
  const isOne = exponent.length === 1 && exponent[0] === 1;
  return isOdd && !isOne && exponent.length <= maxRsaExponentBytes ? undefined : "has an unusable exponent";
}

/** The bytes of a base64url number (RFC 7518, 2) without leading zeros; none for anything else. */
function bytesOf(value: unknown): Uint8Array {
  const bytes = typeof value === "string" ? Buffer.from(value, "base64url") : Buffer.alloc(0);
  const first = bytes.findIndex((byte) => byte !== 0);
  return first < 0 ? Buffer.alloc(0) : bytes.subarray(first);
}

function isValid(jwk: PublicKey): boolean {
  try {
    importKey(jwk);
    return true;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
