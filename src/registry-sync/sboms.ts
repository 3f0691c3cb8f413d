/**
 * Imports the bills of materials that a registry has of stored images:
 *
 *     entry of an index   attestation manifest of BuildKit, about a manifest of the index
 *     referrers API       artifacts whose subject is the image (OCI 1.1)
 *     sha256-HEX          the index of these, in registries without the referrers API (referrers tag schema)
 *     sha256-HEX.att      attestations of cosign
 *     sha256-HEX.sbom     documents of cosign
 *
 * Each belongs to the digest that it is about: that of an index, or of the manifest of one platform. The packages of a
 * tag are those of both (`image-packages.ts`).
 *
 * What was read is remembered by its digest, in the row of the image, and is not read again. So an unchanged image
 * costs one request for its referrers, and none in a registry without the referrers API: the tags are stored already.
 * Signatures are not verified.
 */

import {
  type Image,
  type ImageSbom,
  type ReadSbom,
  readImages,
  registryContents,
  saveImageSboms,
} from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { readSbomArtifact, type SbomArtifact, type SbomReading } from "./sbom-artifact.ts";
import { SbomErrors, type SbomReport } from "./sbom-report.ts";

/** What a {@link SbomSynchronizer} needs. */
interface SbomSynchronizerOptions extends SbomReading {
  readonly database: Database;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Options of one synchronization. */
interface SbomSyncOptions {
  /** Whether to remove what the registry no longer has. */
  readonly prune: boolean;
  readonly report: SbomReport;
  /** Failures of the registry in a row after which it counts as unavailable. */
  readonly maxFailures: number;
}

/** What the registry lists about an image, by digest. */
interface Listed {
  readonly image: Image;
  /** Attestations in indexes. */
  readonly attestations: readonly string[];
  /** Artifacts that refer to the image, or that a tag names. */
  readonly artifacts: readonly string[];
  /** Whether nothing was refused. */
  readonly isComplete: boolean;
}

/** Images whose rows are read at once. */
const portion = 100;
/** Images whose referrers are requested at once. */
const concurrency = 8;
/** Attestations and artifacts of one image. */
const maxArtifacts = 100;
/** Packages of one image. */
const maxPackages = 100_000;
/** Bytes of the documents of one image, compressed. */
const maxDocumentBytes = 64 * 1024 * 1024;

/** The image that a tag of the referrers tag schema, or of cosign, is about. */
export function subjectOfTag(name: string): string | undefined {
  const hex = /^sha256-([0-9a-f]{64})(?:\.|$)/.exec(name)?.[1];
  return hex === undefined ? undefined : `sha256:${hex}`;
}

/** Reads bills of materials from the registry. */
export class SbomSynchronizer {
  readonly #options: SbomSynchronizerOptions;

  constructor(options: SbomSynchronizerOptions) {
    this.#options = options;
  }

  /**
   * Imports what the registry has of these images, and of their platforms. Digests that are not stored are skipped.
   * Errors: RegistryFailure if the registry is unavailable.
   */
  async sync(
    repository: string,
    repoUid: string,
    digests: readonly string[],
    { prune, report, maxFailures }: SbomSyncOptions,
  ): Promise<void> {
    const { read } = this.#options.database;
    const errors = new SbomErrors(report, maxFailures);
    const sync = new RepoSboms({ ...this.#options, repository, repoUid, prune, report, errors });
    const attested = await sync.attestations(digests);
    const subjects = [...attested];
    for (let start = 0; start < subjects.length; start += concurrency) {
      const slice = new Map(subjects.slice(start, start + concurrency));
      const images = [...(await readImages(read, repoUid, [...slice.keys()])).values()];
      const listed = await Promise.all(images.map((image) => sync.list(image, [...slice.get(image.digest)!])));
      for (const each of listed) await sync.update(each); // one after the other: one document is in memory
    }
  }
}

interface RepoSbomsOptions extends SbomSynchronizerOptions, Pick<SbomSyncOptions, "prune" | "report"> {
  readonly repository: string;
  readonly repoUid: string;
  readonly errors: SbomErrors;
}

/** One synchronization of a repo. */
class RepoSboms {
  readonly #options: RepoSbomsOptions;
  #hasReferrersApi = true;

  constructor(options: RepoSbomsOptions) {
    this.#options = options;
  }

  /** Images and their platforms, each with its attestations in any of the indexes. */
  async attestations(digests: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { database, repoUid } = this.#options;
    const attested = new Map<string, Set<string>>();
    for (let start = 0; start < digests.length; start += portion) {
      const images = await readImages(database.read, repoUid, digests.slice(start, start + portion));
      for (const { digest, platforms, attestations = [] } of images.values()) {
        for (const subject of [digest, ...platforms.map((platform) => platform.digest)])
          if (!attested.has(subject)) attested.set(subject, new Set());
        for (const attestation of attestations) attested.get(attestation.subject)?.add(attestation.digest);
      }
    }
    return attested;
  }

  /** What the registry lists about an image. */
  async list(image: Image, attestations: readonly string[]): Promise<Listed> {
    const { database, repoUid, errors, report } = this.#options;
    const tag = image.digest.replace(":", "-");
    const tags = await registryContents.tagsNamed(database.read, repoUid, [tag, `${tag}.att`, `${tag}.sbom`]);
    const tagged = (...names: string[]) => names.flatMap((name) => tags.get(name)?.digest || []);
    let referrers: readonly string[] = [];
    let isComplete = true;
    try {
      referrers = (await this.#referrers(image.digest)) ?? tagged(tag);
    } catch (error) {
      errors.refuse(this.#nameOf(image), error);
      isComplete = false;
    }
    const all = [...new Set([...attestations, ...referrers, ...tagged(`${tag}.att`, `${tag}.sbom`)])];
    if (all.length > maxArtifacts) {
      report.refuse(this.#nameOf(image), `has more than ${maxArtifacts} attestations`);
      isComplete = false;
    }
    return { image, attestations, artifacts: all.slice(0, maxArtifacts), isComplete };
  }

  /** The artifacts that refer to a digest; undefined without the referrers API. */
  async #referrers(digest: string): Promise<readonly string[] | undefined> {
    const { registry, repository, errors } = this.#options;
    const pages = this.#hasReferrersApi ? await errors.answerOf(registry.referrers(repository, digest)) : undefined;
    this.#hasReferrersApi &&= pages !== undefined;
    if (pages === undefined) return undefined;
    const found: string[] = [];
    for await (const page of pages) {
      found.push(...page);
      if (found.length > maxArtifacts) break;
    }
    return found;
  }

  /** Reads what is not known about an image, and stores what has changed. */
  async update({ image, attestations, artifacts, isComplete: isListed }: Listed): Promise<void> {
    const { repository, prune, report, errors } = this.#options;
    const name = this.#nameOf(image);
    const stored = new Map((image.sboms ?? []).map((sbom) => [sbom.digest, sbom]));
    const sboms = new Map<string, ReadSbom>();
    const fresh = new Map<string, ImageSbom>();
    let isComplete = isListed;
    let room = maxPackages;
    let documentRoom = maxDocumentBytes;
    for (const digest of artifacts) {
      const known = stored.get(digest);
      const isIndexed = attestations.includes(digest) || known?.isIndexed === true;
      if (known !== undefined) sboms.set(digest, { ...known, isIndexed });
      if (known?.packages === "none" || (known?.packages === "all" && known.isKept)) continue;
      try {
        const place = { repository, digest, name, room, documentRoom };
        const artifact = await readSbomArtifact(place, this.#options, report, errors);
        const sbom = artifact && readSbomOf(digest, isIndexed, artifact);
        if (sbom !== undefined) sboms.set(digest, sbom);
        if (artifact?.sbom !== undefined) fresh.set(digest, artifact.sbom);
        room -= artifact?.sbom?.packages.length ?? 0;
        for (const { file } of artifact?.sbom?.documents ?? []) documentRoom -= file.length;
        isComplete &&= artifact?.isComplete !== false;
      } catch (error) {
        errors.refuse(name, error, `${digest}: `);
        isComplete = false;
      }
    }
    // An index that lists an attestation may have lost its tag: the attestation is still about the image.
    for (const sbom of stored.values())
      if (!sboms.has(sbom.digest) && (sbom.isIndexed || !isComplete)) sboms.set(sbom.digest, sbom);
    if (!prune && hasPackages(stored) && !hasPackages(sboms)) return report.gone(name);
    const isChanged = await this.#save(image, sboms, fresh);
    if (hasPackages(sboms)) report.count(!isChanged ? "unchanged" : hasPackages(stored) ? "changed" : "added");
    else if (hasPackages(stored)) report.count("removed");
  }

  /** Stores what was read. Returns whether something has changed. */
  async #save(
    image: Image,
    read: ReadonlyMap<string, ReadSbom>,
    fresh: ReadonlyMap<string, ImageSbom>,
  ): Promise<boolean> {
    const { database, repoUid, now } = this.#options;
    const sboms = [...read.values()].sort((a, b) => (a.digest < b.digest ? -1 : 1));
    if (fresh.size === 0 && JSON.stringify(sboms) === JSON.stringify(image.sboms ?? [])) return false;
    return database.transact(async (session) => {
      const isThere = await registryContents.holdRepo(session, repoUid);
      return isThere && saveImageSboms(session, repoUid, image.digest, { sboms, fresh }, now());
    });
  }

  #nameOf({ digest }: Image): string {
    return `${this.#options.repository}@${digest}`;
  }
}

function hasPackages(sboms: ReadonlyMap<string, ReadSbom>): boolean {
  return [...sboms.values()].some(({ packages }) => packages !== "none");
}

/** What to remember of an artifact; undefined if it is to be read again and has nothing to store. */
function readSbomOf(digest: string, isIndexed: boolean, { sbom, isComplete }: SbomArtifact): ReadSbom | undefined {
  if (sbom === undefined) return isComplete ? { digest, isIndexed, packages: "none" } : undefined;
  return { digest, isIndexed, packages: isComplete ? "all" : "some", isKept: true };
}
