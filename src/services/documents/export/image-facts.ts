/** What is known about the packages of an image, for documents that are made of it. */

import { formatPackageUrl, parsePackageUrl } from "../../../package-url.ts";
import type { ReadSession } from "../../../store/index.ts";
import { type ImageList, type ImagePackage, readImageLists } from "../../registry/image-packages.ts";
import { type Image, readImages } from "../../registry/images.ts";

/** An image, or one platform of it. */
export interface ImagePart {
  readonly digest: string;
  /** `linux/amd64`; "" for the image itself. */
  readonly platform: string;
  readonly list: ImageList;
}

/** What is known about an image. */
export interface ImageFacts {
  /** The name of the repo. */
  readonly name: string;
  readonly digest: string;
  /** The image itself first, then its platforms in the order of the index; only those with a list. */
  readonly parts: readonly ImagePart[];
}

/** The facts, without parts if there is no bill of materials; undefined for an unknown image. */
export async function readFacts(
  session: ReadSession,
  repo: { readonly uid: string; readonly name: string },
  digest: string,
): Promise<ImageFacts | undefined> {
  const image: Image | undefined = (await readImages(session, repo.uid, [digest])).get(digest);
  const platforms = new Map([[digest, ""]]);
  for (const { digest: part, os, architecture, variant } of image?.platforms ?? [])
    if (!platforms.has(part)) platforms.set(part, [os, architecture, variant].filter(Boolean).join("/"));
  const lists = await readImageLists(session, repo.uid, [...platforms.keys()]);
  const parts = [...platforms].flatMap(([part, platform]) => {
    const list = lists.get(part);
    return list === undefined ? [] : [{ digest: part, platform, list }];
  });
  return image === undefined && parts.length === 0 ? undefined : { name: repo.name, digest, parts };
}

/** The package URL of a package; one is made for a list that has none. undefined without a type. */
export function purlOf({ purl, name, version, architecture, ...kind }: ImagePackage): string | undefined {
  if (purl !== undefined && parsePackageUrl(purl) !== undefined) return purl;
  if (kind.type === "") return undefined;
  const [path = "", query = ""] = formatPackageUrl(kind, name).split("?");
  const arch = architecture === "" ? "" : `arch=${encodeURIComponent(architecture)}`;
  const qualifiers = [arch, query].filter(Boolean).join("&");
  return `${path}@${encodeURIComponent(version)}${qualifiers === "" ? "" : `?${qualifiers}`}`;
}

/** The package URL of an image. */
export function imagePurl({ name, digest }: Pick<ImageFacts, "name" | "digest">): string {
  const last = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  return `pkg:oci/${encodeURIComponent(last)}@${encodeURIComponent(digest)}`;
}

const operators = new Set(["AND", "OR", "WITH"]);

/** Whether a licence has the form of an SPDX expression. */
export function isExpression(license: string): boolean {
  const words = license.replace(/[()]/g, " ").trim().split(/\s+/);
  return (
    words.every((word, i) =>
      i % 2 === 1 ? operators.has(word) : /^[A-Za-z0-9][A-Za-z0-9.:-]*\+?$/.test(word) && !operators.has(word),
    ) && words.length % 2 === 1
  );
}
