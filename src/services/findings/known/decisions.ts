/** What groups have decided, by organisation, in memory until it changes or expires. */
import { LruMap } from "../../../lru-map.ts";
import type { ReadSession } from "../../../store/index.ts";
import { ancestorsOf, covers, rootOf } from "../../../uid.ts";
import { analysesBelow } from "../../decisions/analyses.ts";
import { compareDecisions, type Decision } from "../../decisions/decision.ts";
import { decisionsRevision } from "../../decisions/revision.ts";
import { vexDecisionsBelow } from "../../documents/vex-decisions.ts";
import type { KnownVulnerability } from "./vulnerabilities.ts";

/** The organisations whose decisions are remembered at most. */
const maxOrganisations = 1000;

/** Decisions by the id of the vulnerability. */
type ById = ReadonlyMap<string, readonly Decision[]>;

/** Where an image is. */
interface Place {
  readonly repo: string;
  readonly digest: string;
}

const nothing: readonly Decision[] = [];

/** The decisions that count in some images. */
export class DecisionSet {
  readonly #parts: readonly ById[];

  constructor(parts: readonly ById[]) {
    this.#parts = parts;
  }

  /** What is decided about a vulnerability, the deciding one first. */
  about({ id, aliases }: Pick<KnownVulnerability, "id" | "aliases">): readonly Decision[] {
    const found = new Set<Decision>();
    for (const part of this.#parts)
      for (const each of [id, ...aliases]) for (const decision of part.get(each) ?? []) found.add(decision);
    return found.size === 0 ? nothing : [...found].sort(compareDecisions);
  }
}

/** The decisions that count in an image; undefined for none. */
export type SetOf = (image: Place) => DecisionSet | undefined;

/** Finds decisions about images. */
export interface DecisionSource {
  /** Undefined where nothing is decided about any of these images. */
  of(session: ReadSession, images: readonly Place[]): Promise<SetOf | undefined>;
}

/** The decisions of one organisation as they are when one of them is another. */
export class ChangedDecisions implements DecisionSource {
  readonly #changed: Decision;
  readonly #nowMs: number;

  /** @param nowMs milliseconds since 1970. */
  constructor(changed: Decision, nowMs: number) {
    this.#changed = changed;
    this.#nowMs = nowMs;
  }

  async of(session: ReadSession): Promise<SetOf> {
    const stored = await decisionsOf(session, rootOf(this.#changed.group));
    const all = [...stored.filter(({ uid }) => uid !== this.#changed.uid), this.#changed];
    const decisions = new OfOrganisation(all, { revision: "", seen: "", nowMs: this.#nowMs });
    return (image) => decisions.setOf(image);
  }
}

/**
 * Those of the decisions that count in all images below these uids; undefined if any counts in some of them alone.
 * @param nowMs milliseconds since 1970.
 */
export function uniformDecisions(
  decisions: readonly Decision[],
  places: readonly string[],
  nowMs: number,
): readonly Decision[] | undefined {
  const found: Decision[] = [];
  for (const decision of decisions) {
    const { group, repos, digests, untilMs = Number.POSITIVE_INFINITY } = decision;
    const isApart = places.every((place) => !covers(group, place) && !covers(place, group));
    if (untilMs <= nowMs || isApart) continue;
    if (repos.size + digests.size > 0 || !places.every((place) => covers(group, place))) return undefined;
    found.push(decision);
  }
  return found.sort(compareDecisions);
}

/** What all groups of an organisation have decided, expired decisions among them. */
async function decisionsOf(session: ReadSession, organisation: string): Promise<Decision[]> {
  return [...(await analysesBelow(session, organisation)), ...(await vexDecisionsBelow(session, organisation))];
}

/** The decisions of all organisations. */
export class KnownDecisions implements DecisionSource {
  readonly #now: () => number;
  readonly #organisations = new LruMap<string, OfOrganisation>(maxOrganisations);

  /** @param now milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The time by which decisions expire, in milliseconds since 1970. */
  get nowMs(): number {
    return this.#now();
  }

  async of(session: ReadSession, images: readonly Place[]): Promise<SetOf | undefined> {
    const revision = await decisionsRevision(session);
    if (revision === "") return undefined;
    const found = new Map<string, OfOrganisation>();
    for (const root of new Set(images.map(({ repo }) => rootOf(repo)))) {
      const decisions = await this.#organisation(session, root, revision);
      if (!decisions.isEmpty) found.set(root, decisions);
    }
    return found.size === 0 ? undefined : (image) => found.get(rootOf(image.repo))?.setOf(image);
  }

  /** @param revision of the decisions of all. */
  async #organisation(session: ReadSession, root: string, revision: string): Promise<OfOrganisation> {
    const known = this.#organisations.get(root);
    const { nowMs } = this;
    if (known?.seen === revision && nowMs < known.validUntilMs) return known;
    const own = await decisionsRevision(session, root);
    if (known?.revision === own && nowMs < known.validUntilMs) {
      known.seen = revision;
      return known;
    }
    const decisions = own === "" ? [] : await decisionsOf(session, root);
    const read = new OfOrganisation(decisions, { revision: own, seen: revision, nowMs });
    this.#organisations.set(root, read);
    return read;
  }
}

/** The decisions of one organisation that have not expired. */
class OfOrganisation {
  /** Of its decisions. */
  readonly revision: string;
  /** The revision of the decisions of all at which that was the one of its own. */
  seen: string;
  /** When the next one expires, in milliseconds since 1970. */
  readonly validUntilMs: number;
  readonly isEmpty: boolean;
  /** Those about all images below a group, by group; those about repos and about digests by these. */
  readonly #byGroup: ReadonlyMap<string, ById>;
  readonly #byRepo: ReadonlyMap<string, ById>;
  readonly #byDigest: ReadonlyMap<string, readonly Decision[]>;
  /** By the names of their parts, and by repo without those about digests. */
  readonly #sets = new Map<string, DecisionSet>();
  readonly #ofRepos = new Map<string, DecisionSet | undefined>();

  constructor(all: readonly Decision[], { revision, seen, nowMs }: { revision: string; seen: string; nowMs: number }) {
    this.revision = revision;
    this.seen = seen;
    const decisions = all.filter(({ untilMs = Number.POSITIVE_INFINITY }) => untilMs > nowMs);
    this.isEmpty = decisions.length === 0;
    this.validUntilMs = decisions.reduce(
      (least, { untilMs = least }) => Math.min(least, untilMs),
      Number.POSITIVE_INFINITY,
    );
    const ofAll = decisions.filter(({ repos, digests }) => repos.size === 0 && digests.size === 0);
    const ofRepos = decisions.filter(({ repos, digests }) => repos.size > 0 && digests.size === 0);
    const ofDigests = decisions.filter(({ digests }) => digests.size > 0);
    this.#byGroup = mapped(Map.groupBy(ofAll, ({ group }) => group));
    this.#byRepo = mapped(grouped(ofRepos, ({ repos }) => repos));
    this.#byDigest = grouped(ofDigests, ({ digests }) => digests);
  }

  /** Those that count in an image; undefined if there are none. */
  setOf({ repo, digest }: Place): DecisionSet | undefined {
    const ofDigest = this.#byDigest.size === 0 ? undefined : this.#byDigest.get(digest);
    const about = ofDigest?.filter(({ group, repos }) => covers(group, repo) && (repos.size === 0 || repos.has(repo)));
    if (about !== undefined && about.length > 0) return this.#setWith(repo, about);
    if (!this.#ofRepos.has(repo)) this.#ofRepos.set(repo, this.#setWith(repo, []));
    return this.#ofRepos.get(repo);
  }

  #setWith(repo: string, ofDigest: readonly Decision[]): DecisionSet | undefined {
    const groups = ancestorsOf(repo).filter((group) => this.#byGroup.has(group));
    const ofRepo = this.#byRepo.get(repo);
    const names = [...groups, ...(ofRepo === undefined ? [] : [repo]), ...ofDigest.map(({ key }) => key)];
    if (names.length === 0) return undefined;
    const name = names.join();
    const known = this.#sets.get(name);
    if (known !== undefined) return known;
    const parts = [
      ...groups.map((group) => this.#byGroup.get(group)!),
      ...(ofRepo === undefined ? [] : [ofRepo]),
      ...(ofDigest.length === 0 ? [] : [byId(ofDigest)]),
    ];
    const set = new DecisionSet(parts);
    this.#sets.set(name, set);
    return set;
  }
}

function grouped(decisions: readonly Decision[], keysOf: (of: Decision) => Iterable<string>): Map<string, Decision[]> {
  const found = new Map<string, Decision[]>();
  for (const decision of decisions)
    for (const key of keysOf(decision)) {
      const some = found.get(key);
      if (some === undefined) found.set(key, [decision]);
      else some.push(decision);
    }
  return found;
}

/** Decisions by the ids of vulnerabilities. */
export function byId(decisions: readonly Decision[]): ById {
  return grouped(decisions, ({ ids }) => ids);
}

function mapped(groups: ReadonlyMap<string, readonly Decision[]>): Map<string, ById> {
  return new Map([...groups].map(([name, decisions]) => [name, byId(decisions)]));
}
