/** Which artifacts and versions a feed has, gathered while it is read, for removing what it does not have. */
import { Ecosystem } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import { type ArtifactRecord, type ImportItem, type Prune, type PrunedPortion, SeenIds } from "../feeds/index.ts";
import { artifactUid, pruneArtifacts, saveArtifact } from "../services/index.ts";
import type { WriteSession } from "../store/index.ts";

/** An artifact that only documents of single versions tell of, as they tell together. */
interface Gathered {
  readonly ecosystem: Ecosystem;
  readonly name: string;
  readonly versions: Set<string>;
}

/** The artifacts of one feed. */
export class ArtifactsOfFeed {
  readonly #isPruning: boolean;
  readonly #uids = new SeenIds();
  readonly #whole = new SeenIds();
  readonly #versions = new SeenIds();
  readonly #ecosystems = new Set<Ecosystem>();
  readonly #gathered = new Map<string, Gathered>();
  #inOrder: readonly Gathered[] | undefined;

  /** @param isPruning whether {@link prunes} will be run, for which more is kept in memory. */
  constructor(isPruning: boolean) {
    this.#isPruning = isPruning;
  }

  /** What there is to store of a record: nothing where a record of the same version said it, as wheels for several platforms do. */
  add(record: ArtifactRecord): ImportItem<ArtifactRecord>[] {
    const { ecosystem, name, versions } = record;
    const uid = artifactUid(ecosystem, name);
    this.#ecosystems.add(ecosystem);
    this.#uids.add(uid);
    if (record.isWhole) {
      this.#whole.add(uid);
      return [{ id: uid, name, value: record }];
    }
    const [version] = versions.map((each) => each.version);
    const id = `${uid} ${version}`;
    if (version === undefined || !this.#versions.add(id)) return [];
    if (this.#isPruning) this.#gather(uid, record).add(version);
    return [{ id, name: `${name} ${version}`, value: record }];
  }

  /**
   * Removes the artifacts that the feed does not have, of the ecosystems it has any of, then the versions that it does not have of artifacts that it
   * tells of version by version.
   * @param asked the uids of those that the feed was asked for; undefined where it was asked for all.
   */
  prunes(asked: ReadonlySet<string> | undefined): Prune[] {
    const isKept = (uid: string) => this.#uids.has(uid) || (asked !== undefined && !asked.has(uid));
    const ofEcosystems = [Ecosystem.JAVA, Ecosystem.PYTHON, Ecosystem.JAVASCRIPT].map(
      (ecosystem): Prune =>
        async (session, _isKept, after) =>
          this.#ecosystems.has(ecosystem)
            ? pruneArtifacts(session, ecosystem, isKept, after)
            : { removed: 0, next: undefined },
    );
    return [...ofEcosystems, (session, _isKept, after) => this.#pruneVersions(session, Number(after ?? 0))];
  }

  /** Of one artifact, by its place among those gathered. */
  async #pruneVersions(session: WriteSession, place: number): Promise<PrunedPortion> {
    this.#inOrder ??= [...this.#gathered.values()];
    const gathered = this.#inOrder[place];
    if (gathered === undefined) return { removed: 0, next: undefined };
    const next = String(place + 1);
    const { ecosystem, name, versions } = gathered;
    if (this.#whole.has(artifactUid(ecosystem, name))) return { removed: 0, next };
    const record = { ecosystem, name, isWhole: true, versions: [...versions].map((version) => ({ version })) };
    const { removedVersions } = await saveArtifact(session, record, { nowMs: Date.now(), prune: true });
    return { removed: removedVersions, next };
  }

  #gather(uid: string, { ecosystem, name }: ArtifactRecord): Set<string> {
    const gathered = this.#gathered.get(uid) ?? { ecosystem, name, versions: new Set() };
    this.#gathered.set(uid, gathered);
    return gathered.versions;
  }
}
