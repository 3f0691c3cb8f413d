/**
 * The rule of an identity: what may be written in it, and how the keys for its tokens are found before anything else of
 * a token is considered.
 */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Identity, Identity_ClaimMatch, Identity_StaticKeys } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { checkKeySet, matchesPattern, originOfPattern, patternFault } from "../../auth/index.ts";
import type { FieldViolation } from "../../errors.ts";
import type { CallEnvironment, Change } from "../../resource/index.ts";

/** The maximum and default lifetime of static keys. */
const maxStaticKeysLifeMs = 365 * 24 * 60 * 60 * 1000;

/** The exact issuer and subject of a rule; "" for a pattern. */
export function literalsOf({ relationship }: Identity): { issuer: string; subject: string } {
  switch (relationship.case) {
    case "claimMatch": {
      const { iss, sub } = relationship.value;
      return { issuer: iss.case === "issuer" ? iss.value : "", subject: sub.case === "subject" ? sub.value : "" };
    }
    case "staticKeys":
      return relationship.value;
    default:
      return { issuer: "", subject: "" };
  }
}

/**
 * Where the keys for the tokens of an identity come from: the published keys of its issuer, those of any issuer at an
 * origin, or its own static keys.
 */
export const keySources = {
  named: (issuer: string) => issuer,
  atOrigin: (origin: string) => `origin ${origin}`,
  carried: (issuer: string) => `carried ${issuer}`,
} as const;

/** The key source of an identity; "" when its issuer pattern is not about one origin, so that no token matches. */
export function keySourceOf(identity: Identity): string {
  const { relationship } = identity;
  const { issuer } = literalsOf(identity);
  if (relationship.case === "staticKeys") return keySources.carried(issuer);
  if (issuer !== "" || relationship.case !== "claimMatch") return issuer;
  const origin = originOfPattern(relationship.value.iss.value ?? "");
  return origin === undefined ? "" : keySources.atOrigin(origin);
}

/** How many patterns a rule has. */
export function patternCount({ relationship }: Identity): number {
  return relationship.case === "claimMatch" ? patternsOf(relationship.value).length : 0;
}

/** The violations in the rule of an identity that is created or changed. */
export function ruleViolations(
  { before, after }: Pick<Change<Identity>, "before" | "after">,
  { issuerUrl, allowLoopbackIssuers, nowMs }: Pick<CallEnvironment, "issuerUrl" | "allowLoopbackIssuers" | "nowMs">,
): FieldViolation[] {
  const { relationship } = after;
  const { issuer } = literalsOf(after);
  const violations: FieldViolation[] = [];
  const field = relationship.case === "staticKeys" ? "static_keys.issuer" : "claim_match.issuer";
  if (issuer.startsWith("http:") && !allowLoopbackIssuers) violations.push({ field, description: httpsNeeded });
  const isNew = before === undefined || literalsOf(before).issuer !== issuer;
  if (isNew && isSameIssuer(issuer, issuerUrl)) violations.push({ field, description: ownIssuer });
  if (relationship.case === "claimMatch")
    violations.push(...patternViolations(relationship.value, before, { issuerUrl, allowLoopbackIssuers }));
  if (relationship.case === "staticKeys") violations.push(...staticKeysViolations(relationship.value, before, nowMs));
  return violations;
}

/** For an issuer at http where the server does not allow it. */
export const httpsNeeded = "must be an https URL";
/** For the platform itself as the issuer. */
export const ownIssuer = "must not be this platform's own issuer";

/** Whether two issuers are the same, in any spelling of the URL. */
export function isSameIssuer(one: string, other: string): boolean {
  const spelled = (issuer: string) => (URL.parse(issuer)?.href ?? issuer).replace(/\/+$/, "");
  return spelled(one) === spelled(other);
}

/** The patterns of a rule with their fields. */
function patternsOf({ iss, sub, aud, claimPatterns }: Identity_ClaimMatch): [field: string, pattern: string][] {
  return [
    ...(iss.case === "issuerPattern" ? [["issuer_pattern", iss.value] as [string, string]] : []),
    ...(sub.case === "subjectPattern" ? [["subject_pattern", sub.value] as [string, string]] : []),
    ...(aud.case === "audiencePattern" ? [["audience_pattern", aud.value] as [string, string]] : []),
    ...Object.entries(claimPatterns).map(([name, pattern]): [string, string] => [
      `claim_patterns[${JSON.stringify(name)}]`,
      pattern,
    ]),
  ];
}

/**
 * The violations in new patterns. An identity keeps patterns that were once accepted, even if they can match nothing.
 */
function patternViolations(
  rule: Identity_ClaimMatch,
  before: Identity | undefined,
  where: Pick<CallEnvironment, "issuerUrl" | "allowLoopbackIssuers">,
): FieldViolation[] {
  const known = new Map(before?.relationship.case === "claimMatch" ? patternsOf(before.relationship.value) : []);
  return patternsOf(rule).flatMap(([field, pattern]) => {
    if (known.get(field) === pattern) return [];
    const description =
      patternFault(pattern) ?? (field === "issuer_pattern" ? issuerPatternFault(pattern, where) : undefined);
    return description === undefined ? [] : [{ field: `claim_match.${field}`, description }];
  });
}

function issuerPatternFault(
  pattern: string,
  { issuerUrl, allowLoopbackIssuers }: Pick<CallEnvironment, "issuerUrl" | "allowLoopbackIssuers">,
): string | undefined {
  const origin = originOfPattern(pattern);
  if (origin === undefined)
    return "must begin with https:// and a literal host, then / and a pattern of the path, without | outside of parentheses";
  if (origin.startsWith("http:") && !allowLoopbackIssuers) return httpsNeeded;
  return matchesPattern(pattern, issuerUrl) ? ownIssuer : undefined;
}

function staticKeysViolations(
  keys: Identity_StaticKeys,
  before: Identity | undefined,
  nowMs: number,
): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const known = before?.relationship.case === "staticKeys" ? before.relationship.value : undefined;
  try {
    if (keys.issuerKeys !== known?.issuerKeys) checkKeySet(keys.issuerKeys);
  } catch (error) {
    violations.push({ field: "static_keys.issuer_keys", description: (error as Error).message });
  }
  keys.expirationTime ??= timestampFromMs(nowMs + maxStaticKeysLifeMs);
  const expirationMs = timestampMs(keys.expirationTime);
  const isKept = known?.expirationTime !== undefined && timestampMs(known.expirationTime) === expirationMs;
  if (!isKept && (expirationMs <= nowMs || expirationMs > nowMs + maxStaticKeysLifeMs)) {
    violations.push({ field: "static_keys.expiration_time", description: "must lie in the next 365 days" });
  }
  return violations;
}
