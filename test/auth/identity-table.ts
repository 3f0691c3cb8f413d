/** Whose keys may verify a token, by a table of identities: what a store finds by index. */
import type { KeySources, MatchableIdentity } from "../../src/auth/identity-source.ts";
import { originOfIssuer, originOfPattern } from "../../src/auth/tokens/issuer-pattern.ts";

export function keySourcesIn(table: readonly MatchableIdentity[], issuer: string, subject: string): KeySources {
  const rules = table.map(({ rule }) => rule);
  const isNamed = rules.some((rule) => rule.kind === "claim_match" && rule.issuer === issuer);
  const isAtOrigin = rules.some(
    (rule) => rule.kind === "claim_match" && originOfPattern(rule.issuerPattern ?? "") === originOfIssuer(issuer),
  );
  const carried = rules.flatMap((rule) =>
    rule.kind === "static_keys" && rule.issuer === issuer && rule.subject === subject ? [rule.issuerKeys] : [],
  );
  return { published: isNamed ? "named" : isAtOrigin ? "at origin" : undefined, carried: [...new Set(carried)] };
}
