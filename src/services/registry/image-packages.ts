/**
 * The packages that images hold, as their bills of materials list them. A list is of one digest; that of an image with several platforms may be
 * of its index or of each platform's manifest, so what a tag names holds all of these.
 */
import type { Saved } from "../../resource/index.ts";
import type { ReadSession, TableSpec, WriteSession } from "../../store/index.ts";
import { images, imageUid, readImages } from "./images.ts";

/** One package of an image. */
export interface ImagePackage {
  readonly name: string;
  readonly version: string;
  /** As package URLs name it: `apk`, `deb`, `npm`; "" where the list does not say. */
  readonly type: string;
  /** The distribution that it is of: `wolfi`; absent where the list does not say. */
  readonly namespace?: string | undefined;
  /** The release of the distribution: `alpine-3.19`; absent where the list does not say. */
  readonly distro?: string | undefined;
  /** "" where the list does not say. */
  readonly architecture: string;
  /** The package that it is built from; "" where the list does not say. */
  readonly origin: string;
  /** The version of the origin; "" where it is the package's own. */
  readonly originVersion: string;
}

/** The rows of package lists; the uid is that of the image. */
export const imagePackages: TableSpec = { name: "image_packages", facets: {} };

/** Stores the packages of a digest, in place of those that it had. The order of the list is kept. */
export async function saveImagePackages(
  session: WriteSession,
  repoUid: string,
  digest: string,
  packages: readonly ImagePackage[],
  nowMs: number,
): Promise<Saved> {
  const uid = imageUid(repoUid, digest);
  const body = Buffer.from(JSON.stringify({ digest, packages }));
  const updateTimeUs = nowMs * 1000;
  const row = await session.get(imagePackages, uid);
  if (row === undefined) {
    await session.insert(imagePackages, {
      uid,
      parent: repoUid,
      createTimeUs: updateTimeUs,
      updateTimeUs,
      body,
      facets: {},
    });
    return "added";
  }
  if (body.equals(row.body)) return "unchanged";
  await session.update(imagePackages, { ...row, body, updateTimeUs });
  return "changed";
}

/** Removes the images of a repo and their packages. */
export async function removeImages(session: WriteSession, repoUid: string): Promise<void> {
  for (const table of [images, imagePackages]) {
    for (;;) {
      const rows = await session.list(table, { parent: repoUid, orderBy: [], skip: 0, limit: 200 });
      for (const { uid } of rows) await session.remove(table, uid);
      if (rows.length < 200) break;
    }
  }
}

/** Removes what is known of a digest: the registry has it no more. */
export async function removeImage(session: WriteSession, repoUid: string, digest: string): Promise<boolean> {
  const uid = imageUid(repoUid, digest);
  await session.remove(imagePackages, uid);
  return (await session.remove(images, uid)) !== undefined;
}

/**
 * The packages of digests of one repo, by digest: their own, and those of the platforms where it is an index. Absent where there is no list for any of
 * these.
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
