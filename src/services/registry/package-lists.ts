/** The package lists of digests, as they are stored. */
import type { ReadSession, Row, TableSpec } from "../../store/index.ts";
import { imageUid } from "./images.ts";

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
export const imagePackages: TableSpec = { name: "image_packages", columns: {} };

/** The packages of a digest by where they come from. */
export interface PackageLists {
  readonly digest: string;
  /** Those from a file; absent when none was imported. */
  readonly packages?: readonly ImagePackage[] | undefined;
  readonly attested?: readonly AttestedPackages[] | undefined;
}

/** The packages in an attestation of the registry. */
interface AttestedPackages {
  /** The digest of the attestation. */
  readonly digest: string;
  readonly packages: readonly ImagePackage[];
}

/** The lists of a row. */
export function listsOf({ body }: Row): PackageLists {
  return JSON.parse(Buffer.from(body).toString()) as PackageLists;
}

/** The packages of each of these digests that has a list: those of a file, else of all attestations. */
export async function readPackageLists(
  session: ReadSession,
  repoUid: string,
  digests: Iterable<string>,
): Promise<ReadonlyMap<string, readonly ImagePackage[]>> {
  const uids = [...new Set(digests)].map((digest) => imageUid(repoUid, digest));
  const rows = await session.getMany(imagePackages, uids);
  return new Map(
    [...rows.values()].map((row) => {
      const { digest, packages, attested = [] } = listsOf(row);
      return [digest, packages ?? attested.flatMap((list) => list.packages)];
    }),
  );
}
