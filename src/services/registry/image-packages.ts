/**
 * The packages in images, from their bills of materials. A list belongs to one digest. For an image with several
 * platforms there may be a list for its index or for the manifest of each platform, so the packages of a tag are those
 * of all these digests.
 *
 * A digest may have a list that was imported from a file, and lists of attestations in the registry, by their digests.
 * The one from a file takes precedence. Without it, the packages are those of all attestations: they are about the same
 * content, so a package is known for fixed only if none of them says otherwise.
 */
import { type RowChange, type Saved, saveContent } from "../../resource/index.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";
import { images, imageUid, type ReadSbom, readImages, saveImage } from "./images.ts";
import {
  removeDocuments,
  replaceDocuments,
  type SbomDocumentToSave,
  sbomDocuments,
  sbomFiles,
} from "./sbom-documents.ts";

/** One package of an image. Lists from before a member was there do not have it. */
export interface ImagePackage {
  readonly name: string;
  readonly version: string;
  /** The type in package URLs: `apk`, `deb`, `npm`; "" when the list does not have it. */
  readonly type: string;
  /** The distribution: `wolfi`; absent when the list does not have it. */
  readonly namespace?: string | undefined;
  /** The release of the distribution: `alpine-3.19`; absent when the list does not have it. */
  readonly distro?: string | undefined;
  /** "" when the list does not have it. */
  readonly architecture: string;
  /** The package that it is built from; "" when the list does not have it. */
  readonly origin: string;
  /** The version of the origin; "" when it equals that of the package. */
  readonly originVersion: string;
  /** The package URL as the document has it. */
  readonly purl?: string | undefined;
  /** SPDX expressions where the document has them, else names; sorted. */
  readonly licenses?: readonly string[] | undefined;
  /** Paths of the files by which it was found, sorted; at most 100. */
  readonly locations?: readonly string[] | undefined;
  /** The digest of the layer that it came with: that of the blob, or of its content. */
  readonly layer?: string | undefined;
  /** The package URL of the package that owns its files. */
  readonly owner?: string | undefined;
}

/** A package of an image that nothing can be known about. */
export interface UnmatchedPackage {
  readonly name: string;
  /** "" if it has none. */
  readonly version: string;
  readonly purl?: string | undefined;
  /** In words: `has no version`. */
  readonly reason: string;
}

/** What bills of materials say about a digest. */
export interface ImageList {
  readonly packages: readonly ImagePackage[];
  /** Those without a type are in `packages`, too. Absent in lists from before it was kept. */
  readonly unmatched?: readonly UnmatchedPackage[] | undefined;
  /** Which package depends on which, by their indexes in `packages`. Absent in lists from before it was kept. */
  readonly dependencies?: readonly (readonly [dependent: number, dependency: number])[] | undefined;
}

/** What bills of materials say, and the documents. */
export interface ImageSbom extends ImageList {
  readonly documents?: readonly SbomDocumentToSave[] | undefined;
}

/** The rows of package lists. The uid is that of the image. */
export const imagePackages: TableSpec = { name: "image_packages", columns: {} };

/** The packages of a digest by where they come from. */
interface PackageLists extends Partial<ImageList> {
  readonly digest: string;
  readonly attested?: readonly AttestedPackages[] | undefined;
}

/** The packages in an attestation of the registry. */
interface AttestedPackages extends ImageList {
  /** The digest of the attestation. */
  readonly digest: string;
}

/** Stores what a file says about a digest, and its documents, replacing former ones. The image may be unknown yet. */
export async function saveImagePackages(
  session: WriteSession,
  repoUid: string,
  digest: string,
  { documents = [], ...list }: ImageSbom,
  nowMs: number,
  onChange?: (change: RowChange) => void,
): Promise<Saved> {
  const row = await session.get(imagePackages, imageUid(repoUid, digest));
  const attested = row && listsOf(row).attested;
  const saved = await saveLists(session, repoUid, row, { digest, ...list, attested }, nowMs);
  const ofDocuments = await replaceDocuments(session, { repoUid, digest, source: "" }, documents, nowMs, onChange);
  return saved === "unchanged" && ofDocuments !== "unchanged" ? "changed" : saved;
}

/**
 * Stores what the registry has of the bills of materials of an image, replacing what it had. `fresh` is what was read
 * now, by the digests of artifacts; that of the others is stored. Returns whether something has changed.
 */
export async function saveImageSboms(
  session: WriteSession,
  repoUid: string,
  digest: string,
  { sboms, fresh }: { readonly sboms: readonly ReadSbom[]; readonly fresh: ReadonlyMap<string, ImageSbom> },
  nowMs: number,
): Promise<boolean> {
  const image = (await readImages(session, repoUid, [digest])).get(digest);
  if (image === undefined) return false; // it was removed meanwhile
  const row = await session.get(imagePackages, imageUid(repoUid, digest));
  const { attested: former = [], ...own }: PackageLists = row === undefined ? { digest } : listsOf(row);
  const lists = new Map<string, ImageList>(former.map(({ digest: artifact, ...list }) => [artifact, list]));
  for (const [artifact, { documents, ...list }] of fresh) lists.set(artifact, list);
  const attested = sboms.flatMap((sbom) => {
    const list = lists.get(sbom.digest);
    return list === undefined ? [] : [{ digest: sbom.digest, ...list }];
  });
  // One whose packages another import has removed meanwhile is to be read again.
  const known = sboms.filter((sbom) => sbom.packages === "none" || lists.has(sbom.digest));
  let isChanged = (await saveImage(session, repoUid, { ...image, sboms: known }, nowMs)) !== "unchanged";
  const sources = new Set(["", ...attested.map((list) => list.digest)]);
  const isGone = (_uid: string, source: string) => !sources.has(source);
  isChanged = (await removeDocuments(session, repoUid, digest, isGone)) || isChanged;
  for (const [source, { documents = [] }] of fresh) {
    if (!sources.has(source)) continue;
    const saved = await replaceDocuments(session, { repoUid, digest, source }, documents, nowMs);
    isChanged = saved !== "unchanged" || isChanged;
  }
  if (own.packages === undefined && attested.length === 0)
    return (await session.remove(imagePackages, imageUid(repoUid, digest))) !== undefined || isChanged;
  return (await saveLists(session, repoUid, row, { ...own, attested }, nowMs)) !== "unchanged" || isChanged;
}

function saveLists(
  session: WriteSession,
  repoUid: string,
  row: Row | undefined,
  { digest, packages, unmatched, dependencies, attested }: PackageLists,
  nowMs: number,
): Promise<Saved> {
  const lists = { digest, packages, unmatched, dependencies, attested: attested?.length ? attested : undefined };
  const body = Buffer.from(JSON.stringify(lists));
  const uid = imageUid(repoUid, digest);
  return saveContent(session, imagePackages, { uid, parent: repoUid, body, columns: {} }, nowMs, row);
}

function listsOf({ body }: Row): PackageLists {
  return JSON.parse(Buffer.from(body).toString()) as PackageLists;
}

/** Removes the images of a repo, their packages and bills of materials. */
export async function removeImages(session: WriteSession, repoUid: string): Promise<void> {
  for (const table of [images, imagePackages, sbomDocuments.table, sbomFiles])
    for await (const rows of session.pages(table, { parent: repoUid, limit: 200, columns: [] }))
      for (const { uid } of rows) await session.remove(table, uid);
}

/** Removes a digest that the registry no longer has. Returns whether it was an image. */
export async function removeImage(session: WriteSession, repoUid: string, digest: string): Promise<boolean> {
  const uid = imageUid(repoUid, digest);
  await removeDocuments(session, repoUid, digest);
  await session.remove(imagePackages, uid);
  return (await session.remove(images, uid)) !== undefined;
}

/** What is stored about digests themselves, without their platforms. A digest without any list is absent. */
export async function readImageLists(
  session: ReadSession,
  repoUid: string,
  digests: readonly string[],
): Promise<ReadonlyMap<string, ImageList>> {
  const uids = new Set(digests.map((digest) => imageUid(repoUid, digest)));
  const rows = await session.getMany(imagePackages, [...uids]);
  return new Map(
    [...rows.values()].map((row) => {
      const { digest, attested = [], packages, ...own } = listsOf(row);
      return [digest, packages === undefined ? joinedLists(attested) : { packages, ...own }];
    }),
  );
}

/** Several lists as one. */
export function joinedLists(lists: readonly ImageList[]): ImageList {
  let before = 0;
  const dependencies: [number, number][] = [];
  for (const list of lists) {
    for (const [from, to] of list.dependencies ?? []) dependencies.push([before + from, before + to]);
    before += list.packages.length;
  }
  return {
    packages: lists.flatMap((list) => list.packages),
    unmatched: lists.flatMap((list) => list.unmatched ?? []),
    dependencies,
  };
}

/**
 * The packages of digests of one repo, by digest: those of the digest itself, and of the platforms if it is an index. A
 * digest without any list is absent.
 */
export async function readImagePackages(
  session: ReadSession,
  repoUid: string,
  digests: readonly string[],
): Promise<ReadonlyMap<string, readonly ImagePackage[]>> {
  const known = await readImages(session, repoUid, digests);
  const partsOf = (digest: string) => [
    ...new Set([digest, ...(known.get(digest)?.platforms.map((platform) => platform.digest) ?? [])]),
  ];
  const lists = await readImageLists(session, repoUid, digests.flatMap(partsOf));
  const listed = digests.filter((digest) => partsOf(digest).some((part) => lists.has(part)));
  return new Map(listed.map((digest) => [digest, partsOf(digest).flatMap((part) => lists.get(part)?.packages ?? [])]));
}
