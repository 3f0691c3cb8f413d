/**
 * Whether an identity may be assumed with a token: the rules a tenant writes, compared with what the token says.
 *
 * - Issuer and subject: the literal exactly, or the whole value by pattern; if a rule has both, both. With neither, nothing matches.
 * - Audience: one value of `aud` must be the literal and match the pattern, as far as the rule has them. A rule with neither expects
 *   this platform: the issuer's URL or its host, with or without scheme (see {@link defaultAudiences}).
 * - Claims: by their names at the top level of the token. A text is compared as it is, a number or boolean by its JSON text (`42`, `true`).
 *   Lists, objects, null, and integers too large to be read exactly never match.
 *
 * A rule's empty text counts as unset, as in a protobuf message.
 */
import { matchesPattern } from "./pattern.ts";
import type { Token } from "./token.ts";

/** Tokens of an OIDC issuer that publishes its keys. */
export interface ClaimMatch {
  readonly kind: "claim_match";
  readonly issuer?: string;
  readonly issuerPattern?: string;
  readonly subject?: string;
  readonly subjectPattern?: string;
  readonly audience?: string;
  readonly audiencePattern?: string;
  readonly claims: Readonly<Record<string, string>>;
  readonly claimPatterns: Readonly<Record<string, string>>;
}

/** Tokens signed by keys that the identity itself carries. */
export interface StaticKeys {
  readonly kind: "static_keys";
  readonly issuer: string;
  readonly subject: string;
  /** Text of a JSON Web Key Set. */
  readonly issuerKeys: string;
  readonly expireTimeMs: number;
  /** In place of the default ones when not empty. */
  readonly audiences: readonly string[];
}

/** How an identity is assumed. */
export type MatchRule = ClaimMatch | StaticKeys;

/** Whether a token says what the rule asks for. The signature is another question. */
export function matches(rule: MatchRule, token: Token, defaults: ReadonlySet<string>, nowMs: number): boolean {
  return rule.kind === "static_keys"
    ? matchesStaticKeys(rule, token, defaults, nowMs)
    : matchesClaims(rule, token, defaults);
}

/** The audiences that mean this platform: its issuer URL and that URL's origin, each with or without scheme, with or without final slash. */
export function defaultAudiences(issuerUrl: string): ReadonlySet<string> {
  const url = new URL(issuerUrl);
  const addresses = [issuerUrl.replace(/\/$/, ""), url.origin];
  const spellings = addresses.flatMap((address) => [address, address.slice(`${url.protocol}//`.length)]);
  return new Set(spellings.flatMap((spelling) => [spelling, `${spelling}/`]));
}

function matchesClaims(rule: ClaimMatch, { claims, audiences }: Token, defaults: ReadonlySet<string>): boolean {
  return (
    isGiven(rule.issuer, rule.issuerPattern) &&
    isGiven(rule.subject, rule.subjectPattern) &&
    agrees(claims.iss, rule.issuer, rule.issuerPattern) &&
    agrees(claims.sub, rule.subject, rule.subjectPattern) &&
    (isGiven(rule.audience, rule.audiencePattern)
      ? audiences.some((audience) => agrees(audience, rule.audience, rule.audiencePattern))
      : audiences.some((audience) => defaults.has(audience))) &&
    Object.entries(rule.claims).every(([name, expected]) => textOf(claims, name) === expected) &&
    Object.entries(rule.claimPatterns).every(([name, pattern]) => {
      const text = textOf(claims, name);
      return text !== undefined && matchesPattern(pattern, text);
    })
  );
}

function matchesStaticKeys(
  rule: StaticKeys,
  { claims, audiences }: Token,
  defaults: ReadonlySet<string>,
  nowMs: number,
): boolean {
  const accepted = rule.audiences.length > 0 ? new Set(rule.audiences) : defaults;
  return (
    nowMs < rule.expireTimeMs &&
    claims.iss === rule.issuer &&
    claims.sub === rule.subject &&
    audiences.some((audience) => accepted.has(audience))
  );
}

function isGiven(...texts: (string | undefined)[]): boolean {
  return texts.some((text) => text !== undefined && text !== "");
}

function agrees(value: string, literal: string | undefined, pattern: string | undefined): boolean {
  return (!isGiven(literal) || value === literal) && (!isGiven(pattern) || matchesPattern(pattern!, value));
}

function textOf(claims: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? JSON.stringify(value) : undefined;
}
