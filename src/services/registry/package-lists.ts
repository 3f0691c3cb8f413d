/** The package lists of digests, as they are stored. */
import type { ReadSession, Row, TableSpec } from "../../store/index.ts";
import { imageUid } from "./images.ts";

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

/** The rows of package lists. The uid is that of the image. */
export const imagePackages: TableSpec = { name: "image_packages", columns: {} };

/** The packages of a digest by where they come from. */
export interface PackageLists extends Partial<ImageList> {
  readonly digest: string;
  readonly attested?: readonly AttestedPackages[] | undefined;
}

/** The packages in an attestation of the registry. */
interface AttestedPackages extends ImageList {
  /** The digest of the attestation. */
  readonly digest: string;
}

/** The lists of a row. */
export function listsOf({ body }: Row): PackageLists {
  return JSON.parse(Buffer.from(body).toString()) as PackageLists;
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
