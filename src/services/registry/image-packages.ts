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
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { imageContents, imageMembers } from "../matches/tables.ts";
import { refreshImageComponents, removeImageComponents } from "./image-components.ts";
import { images, imageUid, type ReadSbom, readImages, storeImage } from "./images.ts";
import {
  type ImageList,
  type ImagePackage,
  imagePackages,
  listsOf,
  type PackageLists,
  readImageLists,
} from "./package-lists.ts";
import {
  removeDocuments,
  replaceDocuments,
  type SbomDocumentToSave,
  sbomDocuments,
  sbomFiles,
} from "./sbom-documents.ts";

export {
  type ImageList,
  type ImagePackage,
  joinedLists,
  readImageLists,
  type UnmatchedPackage,
} from "./package-lists.ts";

/** What bills of materials say, and the documents. */
export interface ImageSbom extends ImageList {
  readonly documents?: readonly SbomDocumentToSave[] | undefined;
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
  let isChanged = (await storeImage(session, repoUid, { ...image, sboms: known }, nowMs)) !== "unchanged";
  const sources = new Set(["", ...attested.map((list) => list.digest)]);
  const isGone = (_uid: string, source: string) => !sources.has(source);
  isChanged = (await removeDocuments(session, repoUid, digest, isGone)) || isChanged;
  for (const [source, { documents = [] }] of fresh) {
    if (!sources.has(source)) continue;
    const saved = await replaceDocuments(session, { repoUid, digest, source }, documents, nowMs);
    isChanged = saved !== "unchanged" || isChanged;
  }
  if (own.packages === undefined && attested.length === 0) {
    const isRemoved = (await session.remove(imagePackages, imageUid(repoUid, digest))) !== undefined;
    if (isRemoved) await refreshImageComponents(session, repoUid, digest, nowMs);
    return isRemoved || isChanged;
  }
  return (await saveLists(session, repoUid, row, { ...own, attested }, nowMs)) !== "unchanged" || isChanged;
}

async function saveLists(
  session: WriteSession,
  repoUid: string,
  row: Row | undefined,
  { digest, packages, unmatched, dependencies, attested }: PackageLists,
  nowMs: number,
): Promise<Saved> {
  const lists = { digest, packages, unmatched, dependencies, attested: attested?.length ? attested : undefined };
  const body = Buffer.from(JSON.stringify(lists));
  const uid = imageUid(repoUid, digest);
  const saved = await saveContent(session, imagePackages, { uid, parent: repoUid, body, columns: {} }, nowMs, row);
  if (saved !== "unchanged") await refreshImageComponents(session, repoUid, digest, nowMs);
  return saved;
}

/** Removes the images of a repo, their packages and bills of materials. */
export async function removeImages(session: WriteSession, repoUid: string): Promise<void> {
  // The moves of tags are many, and nothing shows them without the tag: they are removed in the background.
  const tables = [images, imagePackages, imageContents, sbomDocuments.table, sbomFiles];
  await Promise.all(
    tables.map(async (table) => {
      for await (const rows of session.pages(table, { parent: repoUid, limit: 200, columns: [] }))
        for (const { uid } of rows) {
          await session.remove(table, uid);
          if (table === imageContents) await session.remove(imageMembers, uid);
        }
    }),
  );
}

/** Removes a digest that the registry no longer has. Returns whether it was an image. */
export async function removeImage(
  session: WriteSession,
  repoUid: string,
  digest: string,
  nowMs: number,
): Promise<boolean> {
  const uid = imageUid(repoUid, digest);
  await removeDocuments(session, repoUid, digest);
  await session.remove(imagePackages, uid);
  const isRemoved = (await session.remove(images, uid)) !== undefined;
  await removeImageComponents(session, repoUid, digest, nowMs);
  return isRemoved;
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
