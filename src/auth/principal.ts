/**
 * Principals. A principal is the issuer and the subject of a token, and what verified it: the published keys of the
 * issuer (or the handshake of a client certificate), or keys that an identity carries. Only rules that trust the same
 * keys match it. So nobody gains anything by static keys for the issuer of somebody else.
 *
 * A token that is exchanged without naming an identity becomes a platform token of its principal. The rules of
 * identities are matched with it on every call, as they would be with the token that was exchanged. Its claims:
 *
 *     sub        the uid that LookupIdentity answers for issuer and subject
 *     act        issuer, subject and audience
 *     upstream   { claims, published, keys, alg, kid }   the claims that rules can ask for, and what verified them
 *     identity   only for a token that acts as the user alone: the uid of the user
 */
import { createHash } from "node:crypto";
import { userIdentityUid } from "../new-uid.ts";
import type { Signed } from "./tokens/key-set.ts";
import { type Claims, type SignatureAlgorithm, TokenRejected } from "./tokens/token.ts";

/** Who presented a token. */
export interface Principal {
  /** Claims of the token; those that rules can ask for are among them. */
  readonly claims: Readonly<Claims>;
  /** `aud` as a list. */
  readonly audiences: readonly string[];
  /** Whether keys that the issuer publishes verified it, or the handshake of a client certificate. */
  readonly isPublished: boolean;
  /** The thumbprints (RFC 7638) of the keys that verified it: one, or none for a handshake. */
  readonly keys: readonly string[];
  /** How the token names its key: a key set with several keys for it has verified it only by name. */
  readonly signed: Signed;
}

/** The claims of a platform token about the one that it was exchanged for; `act` as in RFC 8693, 4.1. */
export interface UpstreamClaims {
  readonly act: { readonly iss: string; readonly sub: string; readonly aud: string | readonly string[] };
  readonly [name: string]: unknown;
}

interface Upstream {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly published?: true;
  readonly keys?: readonly string[];
  readonly alg: SignatureAlgorithm;
  readonly kid?: string;
}

/** The uid that LookupIdentity answers. It is that of the user, if there is one. */
export function userUidOf({ claims: { iss, sub } }: Pick<Principal, "claims">): string {
  return userIdentityUid(iss, sub);
}

/**
 * Distinguishes principals, those of one issuer and subject included. 64 hex digits. It follows from the token alone,
 * whoever else trusts its key.
 */
export function principalKey({ claims: { iss, sub }, keys }: Principal): string {
  return createHash("sha256")
    .update(JSON.stringify([iss, sub, ...[...keys].sort()]))
    .digest("hex");
}

/** The claims of a platform token for a principal. */
export function upstreamClaims({ claims, isPublished, keys, signed }: Principal): UpstreamClaims {
  const { iss, sub, aud, ...others } = claims;
  const upstream: Upstream = {
    claims: Object.fromEntries(Object.entries(others).filter(([, value]) => isAskable(value))),
    ...(isPublished && { published: true }),
    ...(keys.length > 0 && { keys }),
    alg: signed.algorithm,
    ...(signed.keyId !== undefined && { kid: signed.keyId }),
  };
  const { email, email_verified: isVerified } = others;
  return {
    ...(isVerified === true && typeof email === "string" && { email, email_verified: true }),
    act: { iss, sub, aud },
    upstream,
  };
}

/** The principal in the claims of a platform token; undefined if it names an identity. Errors: TokenRejected. */
export function principalIn({ act, upstream }: Claims): Principal | undefined {
  if (upstream === undefined) return undefined;
  const { claims, published = false, keys = [], alg, kid } = upstream as Partial<Upstream>;
  const { iss, sub, aud } = (act ?? {}) as Partial<UpstreamClaims["act"]>;
  if (claims === undefined || alg === undefined || iss === undefined || sub === undefined || aud === undefined)
    throw new TokenRejected("names a principal without its claims");
  return {
    claims: { ...(claims as unknown as Claims), iss, sub, aud },
    audiences: typeof aud === "string" ? [aud] : aud,
    isPublished: published,
    keys,
    signed: { algorithm: alg, keyId: kid },
  };
}

/** Whether a rule can ask for a value: a single one, or names of groups. */
function isAskable(value: unknown): boolean {
  return ["string", "boolean", "number"].includes(typeof value) || isTextList(value);
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
