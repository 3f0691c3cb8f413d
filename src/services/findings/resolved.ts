/** Findings of components: what all sources together say about each vulnerability of a package. */
import { type Component, componentKeys, type FeedScopes, type FindingState, resolve } from "../../matching/index.ts";
import { readFeedOrder } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import type { Match } from "../matches/component-matches.ts";
import { feedClaims } from "../matches/feed-claims.ts";
import { type KnownVulnerability, readVulnerabilities } from "./known-vulnerabilities.ts";

/** What one source says, weighed against the others. */
export interface WeighedMatch extends Match {
  /** Why it counts before others or after them, in words. */
  readonly reason: string;
}

/** A vulnerability of a component. */
export interface Resolved {
  readonly vulnerability: KnownVulnerability;
  readonly state: FindingState;
  /** The version with the fix that counts; "" when none is known. */
  readonly fixedVersion: string;
  /** All that is said, the deciding one first. */
  readonly statements: readonly WeighedMatch[];
  /** Since when a source says so, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** What decides between sources. */
interface Weights {
  readonly feedOrder: readonly string[];
  readonly scopes: FeedScopes;
  readonly nowMs: number;
}

/**
 * The findings of components. @param matches of each component, by a name of its own. @param componentOf the component
 * with that name.
 */
export async function resolveAll(
  session: ReadSession,
  matches: ReadonlyMap<string, readonly Match[]>,
  componentOf: (name: string) => Component,
): Promise<Map<string, Resolved[]>> {
  const weights = {
    feedOrder: await readFeedOrder(session),
    scopes: await feedClaims(session),
    nowMs: Date.now(),
  };
  const uids = new Set([...matches.values()].flatMap((some) => some.map(({ vulnerability }) => vulnerability)));
  const known = await readVulnerabilities(session, uids);
  const found = new Map<string, Resolved[]>();
  for (const [name, some] of matches) {
    await session.pause();
    found.set(name, resolveOne(some, known, componentOf(name), weights));
  }
  return found;
}

function resolveOne(
  matches: readonly Match[],
  known: ReadonlyMap<string, KnownVulnerability>,
  component: Component,
  { scopes, ...weighing }: Weights,
): Resolved[] {
  const [own, source] = componentKeys(component);
  const found: Resolved[] = [];
  for (const [uid, ofOne] of Map.groupBy(matches, ({ vulnerability }) => vulnerability)) {
    const vulnerability = known.get(uid);
    if (vulnerability === undefined) continue; // its records were removed while this was read
    const assertions = ofOne.map((match) => {
      const key = (match.isOfOrigin ? source : own)!.key;
      return assertionOf(match, scopes.coverage(match.feed, key, component.distro));
    });
    const { deciding, assertions: weighed, fixedVersion } = resolve(assertions, weighing);
    const { state } = deciding!;
    const saying = weighed.filter((each) => each.state === state).map(({ match }) => match.sinceMs);
    found.push({
      vulnerability,
      state,
      fixedVersion,
      statements: weighed.map(({ match, reason }) => ({ ...match, reason })),
      sinceMs: Math.min(...saying),
    });
  }
  return found;
}

function assertionOf(match: Match, coverage: ReturnType<FeedScopes["coverage"]>) {
  const { kind, feed, id, isOfOrigin, state, fixState, fixedVersion, modifyMs } = match;
  const isVex = kind === "vex" || kind === "vex-exact";
  return {
    match,
    kind: isVex ? ("VEX" as const) : ("FEED" as const),
    source: feed,
    id,
    isOfOrigin,
    state,
    fixState,
    fixedVersion,
    timeMs: modifyMs,
    isSpecific: kind === "vex-exact",
    coverage,
    reason: reasonOf(match, coverage),
  };
}

function reasonOf({ kind }: Match, coverage: ReturnType<FeedScopes["coverage"]>): string {
  if (kind === "vex-exact") return "a VEX statement about this version or subcomponent";
  if (kind === "vex") return "a VEX statement about the product";
  if (coverage === "COMPLETE") return "the feed is complete for the package";
  if (coverage === "FIXES_ONLY") return "the feed lists what is fixed in the package";
  return "a general source";
}
