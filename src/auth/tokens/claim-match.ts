/**
 * Whether a token matches the rule of an identity, which a tenant has written.
 *
 * - Issuer and subject: equal to the literal, or matched as a whole by the pattern. A rule with both requires both. A
 *   rule with neither matches nothing. A pattern for issuers is about one origin (see `issuer-pattern.ts`); any other
 *   matches nothing.
 * - Audience: one value of `aud` must equal the literal and match the pattern, as far as the rule has them. A rule with
 *   neither expects this platform: the URL of the issuer or its host, with or without scheme (see {@link
 *   defaultAudiences}).
 * - Claims: by their names at the top level of the token. A string is compared as it is, a number or boolean by its
 *   JSON text (`42`, `true`). Lists, objects, null, and integers that are too large to be exact never match.
 *
 * An empty text in a rule counts as unset, as in a protobuf message. Rules are matched only with tokens whose signature
 * is verified, because tenants choose the cost of patterns and everyone pays it. Members without a pattern are compared
 * first.
 */
import { matchesIssuerPattern } from "./issuer-pattern.ts";
import { matchesPattern } from "./pattern.ts";
import type { Token } from "./token.ts";

/** What rules are matched with. */
export type Presented = Pick<Token, "claims" | "audiences">;

/** Matches tokens of an OIDC issuer that publishes its keys. */
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

/** Matches tokens signed with static keys of the identity. */
export interface StaticKeys {
  readonly kind: "static_keys";
  readonly issuer: string;
  readonly subject: string;
  /** A JSON Web Key Set, as text. */
  readonly issuerKeys: string;
  readonly expireTimeMs: number;
  /** The accepted audiences, unless empty; then the default ones. */
  readonly audiences: readonly string[];
}

/** The rule of an identity. */
export type MatchRule = ClaimMatch | StaticKeys;

/** What a token is matched under. */
export interface Matching {
  /** The audiences of this platform. */
  readonly defaults: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Limits the work of patterns: none matches while nothing is left. */
  readonly work?: { hasLeft(): boolean; spend(work: number): void };
}

/** Whether a token matches a rule. Its signature is not checked. */
export function matches(rule: MatchRule, token: Presented, matching: Matching): boolean {
  return isFor(rule, token, matching) && fits(rule, token, matching);
}

/** Whether a token matches a rule except for its audience. */
export function missesAudience(rule: MatchRule, token: Presented, matching: Matching): boolean {
  return !isFor(rule, token, matching) && fits(rule, token, matching);
}

/**
 * The audiences of this platform: its issuer URL and the origin of that URL, each with or without scheme. Other
 * spellings are not accepted.
 */
export function defaultAudiences(issuerUrl: string): ReadonlySet<string> {
  const { origin, protocol } = new URL(issuerUrl);
  const addresses = [issuerUrl, origin];
  return new Set([...addresses, ...addresses.map((address) => address.slice(`${protocol}//`.length))]);
}

function isFor(rule: MatchRule, { audiences }: Presented, matching: Matching): boolean {
  if (rule.kind === "claim_match" && isGiven(rule.audience, rule.audiencePattern))
    return audiences.some((audience) => agrees(audience, rule.audience, rule.audiencePattern, matching));
  const accepted =
    rule.kind === "static_keys" && rule.audiences.length > 0 ? new Set(rule.audiences) : matching.defaults;
  return audiences.some((audience) => accepted.has(audience));
}

function fits(rule: MatchRule, { claims }: Presented, matching: Matching): boolean {
  if (rule.kind === "static_keys")
    return matching.nowMs < rule.expireTimeMs && claims.iss === rule.issuer && claims.sub === rule.subject;
  return (
    isGiven(rule.issuer, rule.issuerPattern) &&
    isGiven(rule.subject, rule.subjectPattern) &&
    Object.entries(rule.claims).every(([name, expected]) => textOf(claims, name) === expected) &&
    agrees(claims.iss, rule.issuer, rule.issuerPattern, matching, matchesIssuerPattern) &&
    agrees(claims.sub, rule.subject, rule.subjectPattern, matching) &&
    Object.entries(rule.claimPatterns).every(([name, pattern]) => {
      const text = textOf(claims, name);
      return text !== undefined && matchesWithin(pattern, text, matching);
    })
  );
}

function isGiven(...texts: (string | undefined)[]): boolean {
  return texts.some((text) => text !== undefined && text !== "");
}

function agrees(
  value: string,
  literal: string | undefined,
  pattern: string | undefined,
  matching: Matching,
  matchesIt = matchesPattern,
): boolean {
  if (isGiven(literal) && value !== literal) return false;
  return !isGiven(pattern) || matchesWithin(pattern!, value, matching, matchesIt);
}

function matchesWithin(pattern: string, value: string, { work }: Matching, matchesIt = matchesPattern): boolean {
  if (work === undefined) return matchesIt(pattern, value);
  return work.hasLeft() && matchesIt(pattern, value, (done) => work.spend(done));
}

function textOf(claims: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? JSON.stringify(value) : undefined;
}
