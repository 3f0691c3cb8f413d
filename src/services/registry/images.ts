/**
 * Images: what a repo has under a digest, an index or a single manifest. Images come from registries, not from callers.
 * The content of a digest never changes, so a row is only inserted and is deleted with its repo. What changes is which
 * bills of materials the registry has of it.
 */
import type { ConnectError } from "@connectrpc/connect";
import { ImagesService } from "../../../gen/platform/registry/v2/images_pb.ts";
import { notFound } from "../../errors.ts";
import { fixedUid } from "../../new-uid.ts";
import {
  databaseOf,
  implement,
  type MountedService,
  type Resource,
  requireResource,
  type Saved,
  saveContent,
} from "../../resource/index.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";

/** One platform that an image is built for. */
interface ImagePlatform {
  /** The name in Go: `amd64`. */
  readonly architecture: string;
  /** `v7` of `arm`; "" where there is none. */
  readonly variant: string;
  readonly os: string;
  /** The digest of the manifest of the platform. */
  readonly digest: string;
  /** The configuration and all layers, in bytes. */
  readonly size: number;
}

/** An attestation or an artifact that was read for the bills of materials of an image. */
export interface ReadSbom {
  readonly digest: string;
  /** Whether an index lists it, which never changes. Other lists of the registry do. */
  readonly isIndexed: boolean;
  /** Whether it has packages: `some` when a part of it was refused, so that it is to be read again. */
  readonly packages: "none" | "some" | "all";
  /** Whether its documents and what they say beside packages were kept; absent for what was read before they were. */
  readonly isKept?: true;
}

/** A digest in a repo. */
export interface Image {
  readonly digest: string;
  readonly mediaType: string;
  /** In the order of the index; empty when the digest is not an image, such as a signature. */
  readonly platforms: readonly ImagePlatform[];
  /** The attestation manifests in an index and the manifests that they are about; absent when not known. */
  readonly attestations?: readonly { readonly digest: string; readonly subject: string }[];
  /** The digest that an artifact refers to. */
  readonly subject?: string | undefined;
  /** What was read of the registry's bills of materials, by digest; absent when nothing was. */
  readonly sboms?: readonly ReadSbom[];
}

/** The rows of images, below their repos. */
export const images: TableSpec = { name: "images", columns: { digest: "text" } };

/** The uid of an image, derived from its repo and digest. */
export function imageUid(repoUid: string, digest: string): string {
  return `${repoUid}/${fixedUid("image", digest).slice(0, 16)}`;
}

/** The architecture when none is named. */
const defaultArchitecture = "amd64";

/** Variants that are omitted in names (containerd, `platforms/database.go`): `arm64/v8` is `arm64`. */
const omittedVariants: Readonly<Record<string, string>> = { amd64: "v1", arm64: "v8" };
/** Variants that are the default: `arm` is `arm/v7`. */
const defaultVariants: Readonly<Record<string, string>> = { arm: "v7" };

/** @param repos the parent of images; its service removes images. */
export function imagesService(repos: Resource): MountedService {
  return implement(ImagesService, [], {
    async getArchitectures({ repoUid, digest }, context) {
      await requireResource(repos, repoUid, context);
      const { platforms } = await requireImage(databaseOf(context), repoUid, digest);
      return { architectures: [...new Set(platforms.map(nameOf))] };
    },

    async getSize({ repoUid, digest, architecture }, context) {
      await requireResource(repos, repoUid, context);
      const { platforms } = await requireImage(databaseOf(context), repoUid, digest);
      const wanted = architecture || defaultArchitecture;
      const platform = platformNamed(platforms, wanted);
      if (platform === undefined) throw noImage(digest, `has no architecture ${JSON.stringify(wanted)}`);
      return { size: BigInt(platform.size), architecture: nameOf(platform) };
    },
  });
}

/** The known images of a repo among these digests, by digest. */
export async function readImages(
  session: ReadSession,
  repoUid: string,
  digests: readonly string[],
): Promise<ReadonlyMap<string, Image>> {
  const rows = await session.getMany(
    images,
    digests.map((digest) => imageUid(repoUid, digest)),
  );
  return new Map([...rows.values()].map((row) => [row.columns.digest as string, imageOf(row)]));
}

/** Stores the row of an image. What was read of its bills of materials stays, if it is not given. */
export async function storeImage(
  session: WriteSession,
  repoUid: string,
  { digest, mediaType, platforms, attestations, subject, sboms }: Image,
  nowMs: number,
): Promise<Saved> {
  const uid = imageUid(repoUid, digest);
  const row = await session.get(images, uid);
  const read = sboms ?? (row && imageOf(row).sboms);
  const body = Buffer.from(JSON.stringify({ mediaType, platforms, attestations, subject, sboms: read }));
  return saveContent(session, images, { uid, parent: repoUid, body, columns: { digest } }, nowMs, row);
}

/** The name of an architecture: `arm64`, `arm/v7`. A default variant is omitted. */
function nameOf({ architecture, variant }: ImagePlatform): string {
  return variant === "" || omittedVariants[architecture] === variant ? architecture : `${architecture}/${variant}`;
}

/**
 * The platform with that name, Linux before others. `arm64/v8` is `arm64`. If there is no `arm`, it means `arm/v7` and
 * vice versa; if there is neither, `arm` means any variant.
 */
function platformNamed(platforms: readonly ImagePlatform[], name: string): ImagePlatform | undefined {
  const [architecture = "", variant = ""] = name.split("/");
  const wanted = nameOf({ architecture, variant, os: "", digest: "", size: 0 });
  const named = platforms.filter((platform) => nameOf(platform) === wanted);
  const sameArchitecture = platforms.filter((platform) => platform.architecture === architecture);
  const usual = Object.hasOwn(defaultVariants, architecture) ? defaultVariants[architecture] : undefined;
  const meant = ["", usual].includes(variant)
    ? sameArchitecture.filter((each) => ["", usual].includes(each.variant))
    : [];
  const candidates = [...named, ...meant, ...(variant === "" ? sameArchitecture : [])];
  return candidates.find(({ os }) => os === "linux") ?? candidates[0];
}

async function requireImage(session: ReadSession, repoUid: string, digest: string): Promise<Image> {
  const image = (await readImages(session, repoUid, [digest])).get(digest);
  if (image === undefined) throw noImage(digest, "is not known in this repo");
  return image;
}

function imageOf({ body, columns }: Row): Image {
  return { digest: columns.digest as string, ...JSON.parse(Buffer.from(body).toString()) };
}

function noImage(digest: string, text: string): ConnectError {
  return notFound({ type: "registry.platform.internal/Image", uid: digest }, `Image ${JSON.stringify(digest)} ${text}`);
}
