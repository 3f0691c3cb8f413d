/**
 * A JSON Web Key Set (RFC 7517) to verify signatures with. Of a published set only these keys count: public RSA keys of 2048 to 8192 bits,
 * EC keys on P-256 or P-384, Ed25519 keys, meant for signatures by `use` and `key_ops`. Symmetric keys, keys whose private half is
 * published too, and certificates (`x5c`, `x5u`) are passed over.
 *
 * A token must name its key by `kid`, unless exactly one key of the set fits its algorithm (OpenID Connect Core, 10.1).
 */
import { compactVerify, createLocalJWKSet, errors, type JWK } from "jose";
import { signatureAlgorithms, type Token, TokenRejected } from "./token.ts";

/** No key of the set is the one the token names; a newer set might have it. */
export class UnknownKey extends TokenRejected {
  override readonly name = "UnknownKey";
}

/** The keys of one issuer. */
export interface KeySet {
  /**
   * Verifies the signature and nothing else.
   *
   * Errors: {@link UnknownKey}, {@link TokenRejected}.
   */
  verify(token: Token): Promise<void>;
}

const maxKeys = 100;
const maxRsaModulusBytes = 1024;
const maxRsaExponentBytes = 8; // larger ones make verification slow and have no use
const publicMembers = ["kty", "kid", "alg", "use", "key_ops", "n", "e", "crv", "x", "y"] as const;
const algorithms = [...signatureAlgorithms];

/**
 * Reads the text of a key set. At least one key must be usable.
 *
 * Errors: {@link TokenRejected}.
 */
export function parseKeySet(text: string): KeySet {
  const keys = usableKeys(text);
  const select = createLocalJWKSet({ keys });
  return {
    async verify(token) {
      try {
        await compactVerify(token.text, select, { algorithms });
      } catch (cause) {
        if (cause instanceof errors.JWKSNoMatchingKey) throw new UnknownKey("no such key", { cause });
        throw new TokenRejected("signature not verified", { cause });
      }
    },
  };
}

function usableKeys(text: string): JWK[] {
  let set: { keys?: unknown } | null;
  try {
    set = JSON.parse(text);
  } catch (cause) {
    throw new TokenRejected("key set is not JSON", { cause });
  }
  const published = set?.keys;
  if (!Array.isArray(published) || published.length > maxKeys)
    throw new TokenRejected(`not a set of at most ${maxKeys} keys`);
  const keys = published
    .filter(isUsable)
    .map((jwk) => Object.fromEntries(publicMembers.filter((m) => jwk[m] !== undefined).map((m) => [m, jwk[m]])));
  if (keys.length === 0) throw new TokenRejected("key set without a usable key");
  return keys as JWK[];
}

/** The rest (shape of members, RSA below 2048 bits, points off the curve) fails when the key is imported. */
function isUsable(jwk: Record<string, unknown> | null): jwk is Record<string, unknown> {
  if (typeof jwk !== "object" || jwk === null || "d" in jwk) return false;
  const { kty, crv, n, e } = jwk;
  if (kty === "RSA") return isNumber(n, maxRsaModulusBytes) && isNumber(e, maxRsaExponentBytes);
  return (kty === "EC" && (crv === "P-256" || crv === "P-384")) || (kty === "OKP" && crv === "Ed25519");
}

/** Whether a value is a base64url number (RFC 7518, 2) of at most so many bytes. */
function isNumber(value: unknown, maxBytes: number): boolean {
  return typeof value === "string" && value.length <= Math.ceil((maxBytes * 4) / 3);
}
