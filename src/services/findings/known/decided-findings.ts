/**
 * The findings of a component about which the groups of an image have decided. An analysis counts before all that feeds
 * and VEX documents say; a VEX document of a group before feeds.
 */
import { type Decision, rankOf } from "../../decisions/decision.ts";
import type { StoredComponent } from "../../matches/components.ts";
import type { Resolved, WeighedMatch } from "./resolved.ts";

/** Those of the decisions that say something about a component, in their order. @param owner of its files. */
export function decisionsAbout(
  decisions: readonly Decision[],
  component: StoredComponent,
  owner?: StoredComponent,
): readonly Decision[] {
  return decisions.filter(
    ({ packages, owners, say }) =>
      packages?.contains(component) !== false &&
      (owners === undefined || (owner !== undefined && owners.contains(owner))) &&
      say(component) !== undefined,
  );
}

/** A finding about which these have decided, in their order. What it was before stays behind what decides. */
export function decidedFinding(
  finding: Resolved,
  component: StoredComponent,
  decisions: readonly Decision[],
): Resolved {
  if (decisions.length === 0) return finding;
  const statements: WeighedMatch[] = [];
  const others = [...finding.statements];
  for (const decision of decisions) {
    while (others.length > 0 && isBefore(others[0]!, decision)) statements.push(others.shift()!);
    statements.push(statementOf(decision, component, finding));
  }
  statements.push(...others);
  const { state, fixedVersion } = statements[0]!.match;
  const isDecided = statements[0] !== finding.statements[0];
  return { ...finding, statements, ...(isDecided && { state, fixedVersion }) };
}

function isBefore({ match: { kind, modifyMs = 0 } }: WeighedMatch, decision: Decision): boolean {
  const [rank, other] = [rankOf(kind), rankOf(decision.kind)];
  return rank < other || (rank === other && modifyMs > decision.timeMs);
}

function statementOf(decision: Decision, component: StoredComponent, finding: Resolved): WeighedMatch {
  const { kind, group, uid, timeMs } = decision;
  const { state, justification, fixState, fixedVersion } = decision.say(component)!;
  const { match } = finding.statements[0]!;
  return {
    match: {
      ...{ kind, feed: group, id: uid, vulnerability: match.vulnerability, isOfOrigin: false, state, justification },
      fixState: fixState === "UNKNOWN" ? match.fixState : fixState,
      fixedVersion: fixedVersion === "" ? finding.fixedVersion : fixedVersion,
      ...{ modifyMs: timeMs, sinceMs: timeMs },
    },
    reason: reasonOf(decision),
  };
}

function reasonOf({ kind, untilMs, digests, owners }: Decision): string {
  if (kind === "analysis")
    return `a decision of the group${untilMs === undefined ? "" : ` until ${new Date(untilMs).toISOString()}`}`;
  if (digests.size > 0) return "a VEX statement of the group about the image";
  if (owners !== undefined) return "a VEX statement of the group about this part of a package";
  return kind === "vex"
    ? "a VEX statement of the group about the product"
    : "a VEX statement of the group about this version";
}
