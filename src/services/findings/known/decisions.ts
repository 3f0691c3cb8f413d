/** What groups have decided, by organisation, in memory until it changes or expires. */
import { LruMap } from "../../../lru-map.ts";
import type { ReadSession } from "../../../store/index.ts";
import { ancestorsOf, covers, rootOf } from "../../../uid.ts";
import { analysesRevision, decisionsOf } from "../../decisions/analyses.ts";
import { compareDecisions, type Decision } from "../../decisions/decision.ts";
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

/** The decisions that count in some images. */
export class DecisionSet {
  readonly #parts: readonly ById[];

  constructor(parts: readonly ById[]) {
    this.#parts = parts;
  }

  /** The ids of vulnerabilities about which anything is decided. */
  *ids(): Iterable<string> {
    for (const part of this.#parts) yield* part.keys();
  }

  /** What is decided about a vulnerability, the deciding one first. */
  about({ id, aliases }: Pick<KnownVulnerability, "id" | "aliases">): readonly Decision[] {
    const found: Decision[] = [];
    for (const part of this.#parts) for (const each of [id, ...aliases]) found.push(...(part.get(each) ?? []));
    return found.length > 1 ? found.sort(compareDecisions) : found;
  }
}

/** Finds decisions about images. */
export interface DecisionSource {
  /** The decisions that count in each of these images; none for images that nothing is decided about. */
  of<I extends Place>(session: ReadSession, images: readonly I[]): Promise<ReadonlyMap<I, DecisionSet>>;
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

  async of<I extends Place>(session: ReadSession, images: readonly I[]): Promise<ReadonlyMap<I, DecisionSet>> {
    const stored = await decisionsOf(session, rootOf(this.#changed.group));
    const all = [...stored.filter(({ uid }) => uid !== this.#changed.uid), this.#changed];
    const decisions = new OfOrganisation(all, { revision: "", seen: "", nowMs: this.#nowMs });
    return new Map(
      images.flatMap((image) => {
        const set = decisions.setOf(image);
        return set === undefined ? [] : [[image, set] as const];
      }),
    );
  }
}

/** The decisions of all organisations. */
export class KnownDecisions implements DecisionSource {
  readonly #now: () => number;
  readonly #organisations = new LruMap<string, OfOrganisation>(maxOrganisations);

  /** @param now milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  async of<I extends Place>(session: ReadSession, images: readonly I[]): Promise<ReadonlyMap<I, DecisionSet>> {
    const found = new Map<I, DecisionSet>();
    const revision = await analysesRevision(session);
    if (revision === "") return found;
    for (const [root, some] of Map.groupBy(images, ({ repo }) => rootOf(repo))) {
      const decisions = await this.#organisation(session, root, revision);
      if (decisions.isEmpty) continue;
      for (const image of some) {
        const set = decisions.setOf(image);
        if (set !== undefined) found.set(image, set);
      }
      await session.pause();
    }
    return found;
  }

  /** @param revision of the analyses of all. */
  async #organisation(session: ReadSession, root: string, revision: string): Promise<OfOrganisation> {
    const known = this.#organisations.get(root);
    const nowMs = this.#now();
    if (known?.seen === revision && nowMs < known.validUntilMs) return known;
    const own = await analysesRevision(session, root);
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
  /** Of its analyses. */
  readonly revision: string;
  /** The revision of the analyses of all at which that was the one of its own. */
  seen: string;
  /** When the next one expires, in milliseconds since 1970. */
  readonly validUntilMs: number;
  readonly isEmpty: boolean;
  /** Those about all images below a group, by group; those about repos and about digests by these. */
  readonly #byGroup: ReadonlyMap<string, ById>;
  readonly #byRepo: ReadonlyMap<string, ById>;
  readonly #byDigest: ReadonlyMap<string, readonly Decision[]>;
  /** By the names of their parts. */
  readonly #sets = new Map<string, DecisionSet>();

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
    const groups = ancestorsOf(repo).filter((group) => this.#byGroup.has(group));
    const ofRepo = this.#byRepo.get(repo);
    const ofDigest = (this.#byDigest.get(digest) ?? []).filter(
      ({ group, repos }) => covers(group, repo) && (repos.size === 0 || repos.has(repo)),
    );
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
  return Map.groupBy(decisions, ({ vulnerabilityId }) => vulnerabilityId);
}

function mapped(groups: ReadonlyMap<string, readonly Decision[]>): Map<string, ById> {
  return new Map([...groups].map(([name, decisions]) => [name, byId(decisions)]));
}
