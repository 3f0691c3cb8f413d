/** Findings of components: what all sources together say about each vulnerability of a package. */
import { type Claims, type FindingState, resolve } from "../../matching/index.ts";
import { readFeedOrder } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import type { Match } from "../matches/component-matches.ts";
import { feedClaims } from "../matches/feed-claims.ts";
import { type KnownVulnerability, readVulnerabilities } from "./known-vulnerabilities.ts";

/** A vulnerability of a component. */
export interface Resolved {
  readonly vulnerability: KnownVulnerability;
  readonly state: FindingState;
  /** All statements, the deciding one first, each with the reason why it counts or does not. */
  readonly statements: readonly (Match & { readonly reason: string })[];
  /** Since when a source says so, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** What decides between sources. */
export interface Precedence {
  readonly feedOrder: readonly string[];
  readonly claims: Claims;
}

export async function readPrecedence(session: ReadSession): Promise<Precedence> {
  return { feedOrder: await readFeedOrder(session), claims: await feedClaims(session) };
}

/**
 * The findings of each of these components, by its id. @param matches by the id of the component. @param keyOf the
 * package key of a component.
 */
export async function resolveAll(
  session: ReadSession,
  matches: ReadonlyMap<string, readonly Match[]>,
  keysOf: (id: string) => readonly string[],
): Promise<Map<string, Resolved[]>> {
  const precedence = await readPrecedence(session);
  const uids = new Set([...matches.values()].flatMap((some) => some.map(({ vulnerability }) => vulnerability)));
  const known = await readVulnerabilities(session, uids);
  const found = new Map<string, Resolved[]>();
  for (const [id, some] of matches) {
    await session.pause();
    found.set(id, resolveOne(some, known, keysOf(id), precedence));
  }
  return found;
}

function resolveOne(
  matches: readonly Match[],
  known: ReadonlyMap<string, KnownVulnerability>,
  keys: readonly string[],
  { feedOrder, claims }: Precedence,
): Resolved[] {
  const found: Resolved[] = [];
  for (const [uid, ofOne] of Map.groupBy(matches, ({ vulnerability }) => vulnerability)) {
    const vulnerability = known.get(uid);
    if (vulnerability === undefined) continue; // its feed was removed meanwhile
    const statements = resolve(ofOne, { keys, feedOrder, claims });
    const { state } = statements[0]!;
    const saying = statements.filter((each) => each.state === state).map(({ sinceMs }) => sinceMs);
    found.push({ vulnerability, state, statements, sinceMs: Math.min(...saying) });
  }
  return found;
}
