/**
 * Which facts about releases of a distribution are about a component.
 *
 * - A fact about one release is about its point releases; a fact without release is about all.
 * - If facts about several releases hold, those about the narrowest one decide: 9.2 with updates of its own before 9.
 * - A component that names no release, or names it less exactly than the facts, may be of any of them. Then each of
 *   these releases is a group of its own, and the answer is what they have in common.
 * - Ubuntu has streams of updates. A version tells its stream by `esm` or `fips`. If there are no facts about that one,
 *   those about ordinary updates decide, else those about Pro, which are all that there is for old releases.
 */
import { isOfRelease } from "./distributions.ts";
import type { AffectedFact } from "./facts.ts";

/** A stream of updates of Ubuntu, as releases of facts end in it; "" for ordinary updates. */
export type UpdateStream = "" | "+pro" | "+fips";

/** What the facts are chosen for. */
interface OfRelease {
  /** Canonical; "" if unknown. */
  readonly distro: string;
  readonly stream: UpdateStream;
}

/** The stream that a version comes from. @param type of the package URL. */
export function streamOf(type: string, version: string): UpdateStream {
  if (type !== "deb") return "";
  return /fips/i.test(version) ? "+fips" : /esm\d/.test(version) ? "+pro" : "";
}

/** The facts about a component, in a group for each release that it may be of; no groups if none is about it. */
export function factsForRelease(facts: readonly AffectedFact[], of: OfRelease): (readonly AffectedFact[])[] {
  if (facts.every(({ distro }) => distro === "")) return facts.length === 0 ? [] : [facts];
  const byRelease = new Map<string, AffectedFact[]>();
  for (const fact of facts) {
    const release = withoutStream(fact.distro);
    if (!isOfRelease(release, of.distro) && !isPartOf(release, of.distro)) continue;
    const group = byRelease.get(release);
    if (group === undefined) byRelease.set(release, [fact]);
    else group.push(fact);
  }
  const holding = [...byRelease.keys()].filter((release) => isOfRelease(release, of.distro));
  const narrowest = holding.reduce((a, b) => (b.length > a.length ? b : a), "");
  for (const release of holding) if (release !== narrowest) byRelease.delete(release);
  return [...byRelease.values()].map((group) => ofStream(group, of.stream)).filter((group) => group.length > 0);
}

/** Whether a release is one of those that another text may mean. */
function isPartOf(stated: string, release: string): boolean {
  return release === "" || stated.startsWith(`${release}.`) || stated.startsWith(`${release}-`);
}

function withoutStream(distro: string): string {
  const plus = distro.indexOf("+");
  return plus < 0 ? distro : distro.slice(0, plus);
}

/** The facts about a stream, or about those that count if there are none. */
function ofStream(facts: readonly AffectedFact[], own: UpdateStream): readonly AffectedFact[] {
  for (const stream of new Set([own, "", "+pro"])) {
    const group = facts.filter(({ distro }) => distro.slice(withoutStream(distro).length) === stream);
    if (group.length > 0) return group;
  }
  return [];
}
