/**
 * Images: what a repo holds under a digest, an index or a single manifest. Images come from registries, never from callers, and what a digest
 * stands for never changes, so that a row only comes, and goes with its repo.
 */
import type { ConnectError } from "@connectrpc/connect";
import type { GetArchitecturesRequest, GetSizeRequest } from "../../../gen/platform/registry/v2/images_pb.ts";
import { ImagesService } from "../../../gen/platform/registry/v2/images_pb.ts";
import { notFound } from "../../errors.ts";
import {
  databaseOf,
  implement,
  type Resource,
  requireResource,
  type Saved,
  type ServiceImplementation,
} from "../../resource/index.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";
import { fixedUid } from "../../uid.ts";

/** One platform that an image is built for. */
export interface ImagePlatform {
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  /** `v7` of `arm`; "" where there is none. */
  readonly variant: string;
  readonly os: string;
  /** Of the platform's own manifest. */
  readonly digest: string;
  /** The configuration and all layers, in bytes. */
  readonly size: number;
}

/** What is known of one digest in a repo. */
export interface Image {
  readonly digest: string;
  readonly mediaType: string;
  /** In the order of the index; empty for what is no image, such as a signature. */
  readonly platforms: readonly ImagePlatform[];
}

/** The rows of images; each is below its repo. */
export const images: TableSpec = { name: "images", facets: { digest: "text" } };

/** The uid of an image: it follows from the repo's and the digest. */
export function imageUid(repoUid: string, digest: string): string {
  return `${repoUid}/${fixedUid("image", digest).slice(0, 16)}`;
}

/** The architecture that is meant when none is named. */
const defaultArchitecture = "amd64";

/** Variants that are not written (containerd, `platforms/database.go`): `arm64/v8` is `arm64`. */
const silentVariants: Readonly<Record<string, string>> = { amd64: "v1", arm64: "v8" };
/** Variants that are written, and meant where none is: `arm` is `arm/v7`. */
const usualVariants: Readonly<Record<string, string>> = { arm: "v7" };

/** @param repos the resource that holds images. */
export function imagesService(repos: Resource): ServiceImplementation {
  return implement(
    ImagesService,
    {},
    {
      async getArchitectures({ repoUid, digest }: GetArchitecturesRequest, context) {
        await requireResource(repos, repoUid, context);
        const { platforms } = await requireImage(databaseOf(context), repoUid, digest);
        return { architectures: [...new Set(platforms.map(nameOf))] };
      },

      async getSize({ repoUid, digest, architecture }: GetSizeRequest, context) {
        await requireResource(repos, repoUid, context);
        const { platforms } = await requireImage(databaseOf(context), repoUid, digest);
        const wanted = architecture || defaultArchitecture;
        const platform = platformNamed(platforms, wanted);
        if (platform === undefined) throw noImage(digest, `has no architecture ${JSON.stringify(wanted)}`);
        return { size: BigInt(platform.size), architecture: nameOf(platform) };
      },
    },
  );
}

/** The images of a repo by digest, of those digests that are known. */
export async function readImages(
  session: ReadSession,
  repoUid: string,
  digests: readonly string[],
): Promise<ReadonlyMap<string, Image>> {
  const rows = await session.getMany(
    images,
    digests.map((digest) => imageUid(repoUid, digest)),
  );
  return new Map([...rows.values()].map((row) => [row.facets.digest as string, imageOf(row)]));
}

/** Stores what a digest stands for. */
export async function saveImage(
  session: WriteSession,
  repoUid: string,
  { digest, mediaType, platforms }: Image,
  nowMs: number,
): Promise<Saved> {
  const uid = imageUid(repoUid, digest);
  const body = Buffer.from(JSON.stringify({ mediaType, platforms }));
  const row = await session.get(images, uid);
  if (row === undefined) {
    const timeUs = nowMs * 1000;
    const spine = { uid, parent: repoUid, createTimeUs: timeUs, updateTimeUs: timeUs };
    await session.insert(images, { ...spine, body, facets: { digest } });
    return "added";
  }
  if (body.equals(row.body)) return "unchanged";
  await session.update(images, { ...row, body, updateTimeUs: nowMs * 1000 });
  return "changed";
}

/** An architecture as callers name it: `arm64`, `arm/v7`; a variant that is not written is left out. */
function nameOf({ architecture, variant }: ImagePlatform): string {
  return variant === "" || silentVariants[architecture] === variant ? architecture : `${architecture}/${variant}`;
}

/**
 * The platform of that name, Linux before others; `arm64/v8` is `arm64`. `arm` and `arm/v7` stand for one another where one is missing, and `arm` for any
 * variant of it where both are.
 */
function platformNamed(platforms: readonly ImagePlatform[], name: string): ImagePlatform | undefined {
  const [architecture = "", variant = ""] = name.split("/");
  const wanted = nameOf({ architecture, variant, os: "", digest: "", size: 0 });
  const named = platforms.filter((platform) => nameOf(platform) === wanted);
  const sameArchitecture = platforms.filter((platform) => platform.architecture === architecture);
  const usual = Object.hasOwn(usualVariants, architecture) ? usualVariants[architecture] : undefined;
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

function imageOf({ body, facets }: Row): Image {
  return { digest: facets.digest as string, ...JSON.parse(Buffer.from(body).toString()) };
}

function noImage(digest: string, text: string): ConnectError {
  return notFound({ type: "registry.platform.internal/Image", uid: digest }, `Image ${JSON.stringify(digest)} ${text}`);
}
