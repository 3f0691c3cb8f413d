/**
 * The packages in images, from their bills of materials. A list belongs to one digest. For an image with several
 * platforms there may be a list for its index or for the manifest of each platform, so the packages of a tag are those
 * of all these digests.
 *
 * A digest may have a list that was imported from a file, and lists of attestations in the registry, by their digests.
 * The one from a file takes precedence. Without it, the packages are those of all attestations: they are about the same
 * content, so a package is known for fixed only if none of them says otherwise.
 */
import { type Saved, saveContent } from "../../resource/index.ts";
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { imageComponents } from "../matches/tables.ts";
import { refreshImageComponents, removeImageComponents } from "./image-components.ts";
import { images, imageUid, type ReadSbom, readImages, storeImage } from "./images.ts";
import { type ImagePackage, imagePackages, listsOf, type PackageLists, readPackageLists } from "./package-lists.ts";

export type { ImagePackage } from "./package-lists.ts";

/** Stores the packages of a digest in their order, replacing former ones. */
export async function saveImagePackages(
  session: WriteSession,
  repoUid: string,
  digest: string,
  packages: readonly ImagePackage[],
  nowMs: number,
): Promise<Saved> {
  const row = await session.get(imagePackages, imageUid(repoUid, digest));
  return saveLists(session, repoUid, row, { digest, packages, attested: row && listsOf(row).attested }, nowMs);
}

/**
 * Stores what the registry has of the bills of materials of an image, replacing what it had. `fresh` are the packages
 * of what was read now, by its digest; those of the others are stored. Returns whether something has changed.
 */
export async function saveImageSboms(
  session: WriteSession,
  repoUid: string,
  digest: string,
  {
    sboms,
    fresh,
  }: { readonly sboms: readonly ReadSbom[]; readonly fresh: ReadonlyMap<string, readonly ImagePackage[]> },
  nowMs: number,
): Promise<boolean> {
  const image = (await readImages(session, repoUid, [digest])).get(digest);
  if (image === undefined) return false; // it was removed meanwhile
  const row = await session.get(imagePackages, imageUid(repoUid, digest));
  const { packages, attested: former = [] }: PackageLists = row === undefined ? { digest } : listsOf(row);
  const lists = new Map([...former.map((list) => [list.digest, list.packages] as const), ...fresh]);
  const attested = sboms.flatMap((sbom) => {
    const list = lists.get(sbom.digest);
    return list === undefined ? [] : [{ digest: sbom.digest, packages: list }];
  });
  // One whose packages another import has removed meanwhile is to be read again.
  const known = sboms.filter((sbom) => sbom.packages === "none" || lists.has(sbom.digest));
  const isRead = (await storeImage(session, repoUid, { ...image, sboms: known }, nowMs)) !== "unchanged";
  if (packages === undefined && attested.length === 0) {
    const isRemoved = (await session.remove(imagePackages, imageUid(repoUid, digest))) !== undefined;
    if (isRemoved) await refreshImageComponents(session, repoUid, digest, nowMs);
    return isRemoved || isRead;
  }
  return (await saveLists(session, repoUid, row, { digest, packages, attested }, nowMs)) !== "unchanged" || isRead;
}

async function saveLists(
  session: WriteSession,
  repoUid: string,
  row: Row | undefined,
  { digest, packages, attested }: PackageLists,
  nowMs: number,
): Promise<Saved> {
  const body = Buffer.from(JSON.stringify({ digest, packages, attested: attested?.length ? attested : undefined }));
  const uid = imageUid(repoUid, digest);
  const saved = await saveContent(session, imagePackages, { uid, parent: repoUid, body, columns: {} }, nowMs, row);
  if (saved !== "unchanged") await refreshImageComponents(session, repoUid, digest, nowMs);
  return saved;
}

/** Removes the images of a repo with their packages and components. */
export async function removeImages(session: WriteSession, repoUid: string): Promise<void> {
  // The moves of tags are many, and nothing shows them without the tag: they are removed in the background.
  const tables = [images, imagePackages, imageComponents];
  await Promise.all(
    tables.map(async (table) => {
      for await (const rows of session.pages(table, { parent: repoUid, limit: 200 }))
        for (const { uid } of rows) await session.remove(table, uid);
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
  const lists = await readPackageLists(session, repoUid, digests.flatMap(partsOf));
  const listed = digests.filter((digest) => partsOf(digest).some((part) => lists.has(part)));
  return new Map(listed.map((digest) => [digest, partsOf(digest).flatMap((part) => lists.get(part) ?? [])]));
}
