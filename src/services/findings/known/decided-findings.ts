/**
 * The findings of a component about which the groups of an image have decided. An analysis counts before all that feeds
 * and VEX documents say.
 */
import type { Decision } from "../../decisions/decision.ts";
import type { StoredComponent } from "../../matches/components.ts";
import type { Resolved } from "./resolved.ts";

/** Those of the decisions that are about a component, in their order. */
export function decisionsAbout(decisions: readonly Decision[], component: StoredComponent): readonly Decision[] {
  return decisions.filter(({ packages }) => packages === undefined || packages.contains(component));
}

/** A finding about which these have decided, the deciding one first. What it was before stays behind them. */
export function decidedFinding(finding: Resolved, decisions: readonly Decision[]): Resolved {
  const [deciding] = decisions;
  if (deciding === undefined) return finding;
  const { match } = finding.statements[0]!;
  const decided = decisions.map(({ uid, group, state, justification, untilMs, updateMs }) => ({
    match: {
      ...{ feed: group, id: uid, vulnerability: match.vulnerability, isOfOrigin: false },
      ...{ state, justification, fixState: match.fixState, fixedVersion: finding.fixedVersion },
      ...{ modifyMs: updateMs, sinceMs: updateMs },
    },
    reason: `a decision of the group${untilMs === undefined ? "" : ` until ${new Date(untilMs).toISOString()}`}`,
  }));
  return { ...finding, state: deciding.state, statements: [...decided, ...finding.statements] };
}
