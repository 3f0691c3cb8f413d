/** Collects the artifacts and versions of a feed while it is read, to remove those that it does not have. */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { type ArtifactRecord, type ImportItem, type Prune, type PrunedPortion, SeenIds } from "../../feeds/index.ts";
import { artifactUid, pruneArtifacts, saveArtifact } from "../../services/index.ts";
import type { WriteSession } from "../../store/index.ts";

/** The versions of an artifact that the feed describes only by documents of single versions. */
interface CollectedVersions {
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
  readonly #collected = new Map<string, CollectedVersions>();
  #collectedList: readonly CollectedVersions[] | undefined;

  /** @param isPruning whether {@link prunes} will be used, which needs more memory. */
  constructor(isPruning: boolean) {
    this.#isPruning = isPruning;
  }

  /**
   * The items to store of a record: none if a record of the same version came before, as wheels of several platforms
   * do.
   */
  add(record: ArtifactRecord): ImportItem<ArtifactRecord>[] {
    const { ecosystem, name, versions } = record;
    const uid = artifactUid(ecosystem, name);
    this.#ecosystems.add(ecosystem);
    this.#uids.add(uid);
    if (record.isWhole) {
      this.#whole.add(uid);
      return [{ id: uid, name, value: record, content: Buffer.from(JSON.stringify(record)) }];
    }
    const [version] = versions.map((each) => each.version);
    const id = `${uid} ${version}`;
    if (version === undefined || !this.#versions.add(id)) return [];
    if (this.#isPruning) this.#versionsOf(uid, record).add(version);
    return [{ id, name: `${name} ${version}`, value: record }];
  }

  /**
   * Removes artifacts that the feed does not have, within the ecosystems that it has. Then removes versions that it
   * does not have, of artifacts that it describes by documents of single versions.
   * @param requested uids of the requested artifacts; undefined if all were requested.
   */
  prunes(requested: ReadonlySet<string> | undefined): Prune[] {
    const isKept = (uid: string) => this.#uids.has(uid) || (requested !== undefined && !requested.has(uid));
    const ofEcosystems = [Ecosystem.JAVA, Ecosystem.PYTHON, Ecosystem.JAVASCRIPT].map(
      (ecosystem): Prune =>
        async (session, _ids, after) =>
          this.#ecosystems.has(ecosystem)
            ? pruneArtifacts(session, ecosystem, isKept, after)
            : { removed: 0, next: undefined },
    );
    return [...ofEcosystems, (session, _ids, after) => this.#pruneVersions(session, Number(after ?? 0))];
  }

  /** Removes versions of one collected artifact. */
  async #pruneVersions(session: WriteSession, index: number): Promise<PrunedPortion> {
    this.#collectedList ??= [...this.#collected.values()];
    const collected = this.#collectedList[index];
    if (collected === undefined) return { removed: 0, next: undefined };
    const next = String(index + 1);
    const { ecosystem, name, versions } = collected;
    if (this.#whole.has(artifactUid(ecosystem, name))) return { removed: 0, next };
    const record = { ecosystem, name, isWhole: true, versions: [...versions].map((version) => ({ version })) };
    const { removedVersions } = await saveArtifact(session, record, { nowMs: Date.now(), prune: true });
    return { removed: removedVersions, next };
  }

  #versionsOf(uid: string, { ecosystem, name }: ArtifactRecord): Set<string> {
    const collected = this.#collected.get(uid) ?? { ecosystem, name, versions: new Set() };
    this.#collected.set(uid, collected);
    return collected.versions;
  }
}
