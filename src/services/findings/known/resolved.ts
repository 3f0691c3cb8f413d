/** Findings of components: what all sources together say about each vulnerability of a package. */
import { type Component, componentKeys, type FeedScopes, type FindingState, resolve } from "../../../matching/index.ts";
import { readFeedOrder } from "../../../resource/index.ts";
import type { ReadSession } from "../../../store/index.ts";
import type { Match } from "../../matches/component-matches.ts";
import { feedClaims } from "../../matches/feed-claims.ts";
import { type KnownVulnerability, readVulnerabilities } from "./vulnerabilities.ts";

/** What one source says, weighed against the others. */
export interface WeighedMatch {
  readonly match: Omit<Match, "kind"> & { readonly kind: Match["kind"] | "analysis" };
  /** Why it counts before others or after them, in words. */
  readonly reason: string;
}

/** A vulnerability of a component. Many components may share one. */
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

type VulnerabilitiesByUid = Map<string, KnownVulnerability>;

/** Findings that were computed, and the vulnerabilities of them: equal ones are one object. */
export class SharedFindings {
  readonly vulnerabilities: VulnerabilitiesByUid = new Map();
  /** By the numbers of the matches and what their feeds cover. */
  readonly #found = new Map<string, Resolved>();
  readonly #numbers = new Map<Match, number>();

  /** The finding of these matches, which are those of one vulnerability. */
  resolved(matches: readonly Covered[], compute: () => Resolved): Resolved {
    const key = matches.map(({ match, coverage }) => `${this.#numberOf(match)}${coverage ?? ""}`).join();
    const known = this.#found.get(key) ?? compute();
    this.#found.set(key, known);
    return known;
  }

  #numberOf(match: Match): number {
    const known = this.#numbers.get(match) ?? this.#numbers.size;
    this.#numbers.set(match, known);
    return known;
  }
}

/** A match, and how far its feed covers the package. */
interface Covered {
  readonly match: Match;
  readonly coverage: ReturnType<FeedScopes["coverage"]>;
}

/**
 * The findings of components. @param matches of each component, by a name of its own. @param componentOf the component
 * with that name. @param shared what was computed before, of equal vulnerabilities, feeds and their order.
 */
export async function resolveAll(
  session: ReadSession,
  matches: ReadonlyMap<string, readonly Match[]>,
  componentOf: (name: string) => Component,
  shared?: SharedFindings,
): Promise<Map<string, Resolved[]>> {
  const weights = {
    feedOrder: await readFeedOrder(session),
    scopes: await feedClaims(session),
    nowMs: Date.now(),
  };
  const uids = new Set([...matches.values()].flatMap((some) => some.map(({ vulnerability }) => vulnerability)));
  const known: VulnerabilitiesByUid = shared?.vulnerabilities ?? new Map();
  const unknown = [...uids].filter((uid) => !known.has(uid));
  for (const [uid, vulnerability] of await readVulnerabilities(session, unknown)) known.set(uid, vulnerability);
  const found = new Map<string, Resolved[]>();
  for (const [name, some] of matches) {
    await session.pause();
    found.set(name, resolveOne(some, componentOf(name), weights, known, shared));
  }
  return found;
}

function resolveOne(
  matches: readonly Match[],
  component: Component,
  { scopes, ...weighing }: Weights,
  known: VulnerabilitiesByUid,
  shared: SharedFindings | undefined,
): Resolved[] {
  const [own, source] = componentKeys(component);
  const found: Resolved[] = [];
  for (const [uid, ofOne] of Map.groupBy(matches, ({ vulnerability }) => vulnerability)) {
    const vulnerability = known.get(uid);
    if (vulnerability === undefined) continue; // its records were removed while this was read
    const covered = ofOne.map((match) => {
      const key = (match.isOfOrigin ? source : own)!.key;
      return { match, coverage: scopes.coverage(match.feed, key, component.distro) };
    });
    const compute = () => weigh(covered, vulnerability, weighing);
    found.push(shared?.resolved(covered, compute) ?? compute());
  }
  return found;
}

function weigh(
  covered: readonly Covered[],
  vulnerability: KnownVulnerability,
  weighing: Omit<Weights, "scopes">,
): Resolved {
  const assertions = covered.map(assertionOf);
  const { deciding, assertions: weighed, fixedVersion } = resolve(assertions, weighing);
  const { state } = deciding!;
  const saying = weighed.filter((each) => each.state === state).map(({ match }) => match.sinceMs);
  return {
    vulnerability,
    state,
    fixedVersion,
    statements: weighed.map(({ match, reason }) => ({ match, reason })),
    sinceMs: Math.min(...saying),
  };
}

function assertionOf({ match, coverage }: Covered) {
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

function reasonOf({ kind }: Match, coverage: Covered["coverage"]): string {
  if (kind === "vex-exact") return "a VEX statement about this version or subcomponent";
  if (kind === "vex") return "a VEX statement about the product";
  if (coverage === "COMPLETE") return "the feed is complete for the package";
  if (coverage === "FIXES_ONLY") return "the feed lists what is fixed in the package";
  return "a general source";
}
