/**
 * The packages in images, from their bills of materials. A list belongs to one digest. For an image with several
 * platforms there may be a list for its index or for the manifest of each platform, so the packages of a tag are those
 * of all these digests.
 */
import { newRow, type Saved } from "../../resource/index.ts";
import type { ReadSession, TableSpec, WriteSession } from "../../store/index.ts";
import { images, imageUid, readImages } from "./images.ts";

/** One package of an image. */
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
}

/** The rows of package lists. The uid is that of the image. */
const imagePackages: TableSpec = { name: "image_packages", columns: {} };

/** Stores the packages of a digest in their order, replacing former ones. */
export async function saveImagePackages(
  session: WriteSession,
  repoUid: string,
  digest: string,
  packages: readonly ImagePackage[],
  nowMs: number,
): Promise<Saved> {
  const uid = imageUid(repoUid, digest);
  const body = Buffer.from(JSON.stringify({ digest, packages }));
  const row = await session.get(imagePackages, uid);
  if (row === undefined) {
    await session.insert(imagePackages, newRow(uid, repoUid, nowMs, { body, columns: {} }));
    return "added";
  }
  if (body.equals(row.body)) return "unchanged";
  await session.update(imagePackages, { ...row, body, updateTimeUs: nowMs * 1000 });
  return "changed";
}

/** Removes the images of a repo and their packages. */
export async function removeImages(session: WriteSession, repoUid: string): Promise<void> {
  for (const table of [images, imagePackages])
    for await (const rows of session.pages(table, { parent: repoUid, limit: 200 }))
      for (const { uid } of rows) await session.remove(table, uid);
}

/** Removes a digest that the registry no longer has. Returns whether it was an image. */
export async function removeImage(session: WriteSession, repoUid: string, digest: string): Promise<boolean> {
  const uid = imageUid(repoUid, digest);
  await session.remove(imagePackages, uid);
  return (await session.remove(images, uid)) !== undefined;
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
  const uids = digests.flatMap(partsOf).map((digest) => imageUid(repoUid, digest));
  const rows = await session.getMany(imagePackages, [...new Set(uids)]);
  const lists = new Map<string, readonly ImagePackage[]>();
  for (const { body } of rows.values()) {
    const list = JSON.parse(Buffer.from(body).toString()) as { digest: string; packages: readonly ImagePackage[] };
    lists.set(list.digest, list.packages);
  }
  const listed = digests.filter((digest) => partsOf(digest).some((part) => lists.has(part)));
  return new Map(listed.map((digest) => [digest, partsOf(digest).flatMap((part) => lists.get(part) ?? [])]));
}
