/**
 * Parses signed JSON Web Tokens (RFC 7519 in the compact form of RFC 7515) before any key is used, as strictly as RFC
 * 8725 advises:
 *
 *     token = base64url(header) "." base64url(claims) "." base64url(signature)     at most 8192 characters
 *
 * - base64url is canonical and without padding: a token has one spelling.
 * - Header and claims are JSON objects in UTF-8. No object in them has two members with one name.
 * - `alg` is one of {@link signatureAlgorithms}. `typ` is absent, `JWT` or `at+jwt`. `crit` is rejected, since no
 *   extension is supported.
 * - A key or the address of one in the header (`jwk`, `jku`, `x5c`, `x5u`) is rejected: a token never says what to
 *   verify it with.
 * - A header that changes the encoding of the claims (`b64` of RFC 7797, `zip`, `enc`) is rejected.
 * - `iss`, `sub`, `aud` and `exp` are present. `iss`, `sub` and each audience have at most 1024 characters and no
 *   control characters. There are at most 100 audiences.
 */

import { repeatedMember } from "../../codec/index.ts";

/** The accepted signature algorithms, all asymmetric (RFC 7518, RFC 8037). */
export const signatureAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "EdDSA",
] as const;
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/** The token is not accepted. The message is for the log; callers never learn which check failed. */
export class TokenRejected extends Error {
  override readonly name: string = "TokenRejected";
}

/**
 * What the bearer may know about a token whose signature is valid, since the token itself says it. It completes "the
 * token is …".
 */
type Misfit = "expired" | "not yet valid" | "for another audience";

/** The signature is valid, but the token is not for this time or not for this platform. */
export class TokenMisfit extends TokenRejected {
  override readonly name = "TokenMisfit";
  readonly misfit: Misfit;

  constructor(misfit: Misfit) {
    super(misfit);
    this.misfit = misfit;
  }
}

/** The claims of every accepted token, and others of its issuer. */
export interface Claims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string | readonly string[];
  /** Seconds since 1970, as `nbf` and `iat`. */
  readonly exp: number;
  readonly nbf?: number;
  readonly iat?: number;
  readonly [name: string]: unknown;
}

/** A well-formed token. Nothing in it is proven until its signature is verified. */
export interface Token {
  readonly text: string;
  readonly algorithm: SignatureAlgorithm;
  /** The name of the key among those of the issuer. */
  readonly keyId: string | undefined;
  readonly claims: Claims;
  /** `aud` as a list. */
  readonly audiences: readonly string[];
}

/** The longest token in characters. */
export const maxTokenLength = 8192;

const embeddedKeys = ["jwk", "jku", "x5c", "x5u"];
const codings = ["b64", "zip", "enc"];
const maxAudiences = 100;
const maxIdentifierLength = 1024;
/** How far clocks may differ. */
export const leewaySeconds = 60;

/**
 * Parses a token without verifying it.
 *
 * Errors: {@link TokenRejected}.
 */
export function parseToken(text: string): Token {
  if (text.length > maxTokenLength) throw new TokenRejected("too long");
  const parts = text.split(".");
  if (parts.length !== 3) throw new TokenRejected("not three parts");
  const [header, claims, signature] = parts as [string, string, string];
  const signedBy = checkHeader(parseObject(header));
  decode(signature);
  return { text, ...signedBy, ...checkClaims(parseObject(claims)) };
}

/**
 * Checks the validity period. A token that was issued in the future is not yet valid. Clocks may differ by 60 s at both
 * ends.
 *
 * Errors: {@link TokenMisfit}.
 */
export function checkPeriod(claims: Claims, nowMs: number): void {
  if (isInPeriod(claims, nowMs)) return;
  throw new TokenMisfit(nowMs / 1000 < claims.exp + leewaySeconds ? "not yet valid" : "expired");
}

/** Whether {@link checkPeriod} passes. */
export function isInPeriod({ exp, nbf = 0, iat = 0 }: Claims, nowMs: number): boolean {
  const now = nowMs / 1000;
  return now < exp + leewaySeconds && Math.max(nbf, iat) <= now + leewaySeconds;
}

/** Whether a token is well-formed and within its validity period. Its signature is not checked. */
export function isReadableToken(text: string, nowMs: number): boolean {
  try {
    checkPeriod(parseToken(text).claims, nowMs);
    return true;
  } catch (error) {
    if (error instanceof TokenRejected) return false;
    throw error;
  }
}

/** Whether a value is a non-empty string that can be compared, stored and logged as it is. */
export function isIdentifier(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.length <= maxIdentifierLength &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value)
  );
}

function checkHeader(header: Record<string, unknown>): Pick<Token, "algorithm" | "keyId"> {
  const { alg, typ, crit, kid } = header;
  const algorithm = signatureAlgorithms.find((a) => a === alg);
  if (algorithm === undefined) throw new TokenRejected("algorithm not accepted");
  if (typ !== undefined && !(typeof typ === "string" && /^(?:at\+)?jwt$/i.test(typ)))
    throw new TokenRejected("not of type JWT");
  if (crit !== undefined) throw new TokenRejected("critical extension");
  if (embeddedKeys.some((name) => Object.hasOwn(header, name))) throw new TokenRejected("brings its own key");
  if (codings.some((name) => Object.hasOwn(header, name))) throw new TokenRejected("claims coded otherwise");
  if (kid !== undefined && !isIdentifier(kid)) throw new TokenRejected("malformed kid");
  return { algorithm, keyId: kid };
}

function checkClaims(claims: Record<string, unknown>): Pick<Token, "claims" | "audiences"> {
  const { iss, sub, aud, exp, nbf, iat } = claims;
  if (!isIdentifier(iss) || !isIdentifier(sub)) throw new TokenRejected("no issuer or subject");
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (audiences.length === 0 || !audiences.every(isIdentifier)) throw new TokenRejected("no audience");
  if (audiences.length > maxAudiences) throw new TokenRejected("too many audiences");
  if (!isNumericDate(exp)) throw new TokenRejected("no expiry");
  if (![nbf, iat].every((date) => date === undefined || isNumericDate(date))) throw new TokenRejected("malformed date");
  return { claims: claims as Claims, audiences };
}

function isNumericDate(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER / 1000;
}

function decode(part: string): Buffer {
  const bytes = Buffer.from(part, "base64url");
  if (part === "" || bytes.toString("base64url") !== part) throw new TokenRejected("not base64url");
  return bytes;
}

function parseObject(part: string): Record<string, unknown> {
  const bytes = decode(part);
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    throw new TokenRejected("not JSON", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TokenRejected("not a JSON object");
  if (repeatedMember(text) !== undefined) throw new TokenRejected("a member is named twice");
  return value as Record<string, unknown>;
}
