/** Images as callers name them: `REPO:TAG` or `REPO@DIGEST`, the repo by its uid or name. */
import { invalid, notFound } from "../../errors.ts";
import type { ReadSession } from "../../store/index.ts";
import { imageUid } from "../registry/images.ts";
import { findRepos } from "../registry/named-packages.ts";
import { tags } from "../registry/tags.ts";

/** An image that was found. */
export interface FoundImage {
  readonly repo: string;
  readonly digest: string;
  /** The uid of the image. */
  readonly uid: string;
}

/** A name, taken apart. */
interface ImageName {
  readonly repo: string;
  readonly tag?: string;
  readonly digest?: string;
}

const digestName = /^(.*)@([a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-zA-Z=_-]+)$/;
const tagName = /^(.*):([\w][\w.-]{0,127})$/;
const form = "must be REPO:TAG or REPO@DIGEST, with the name or the uid of a repo";

/** Where an image is looked for. */
interface Place {
  /** The field of the request, for errors. */
  readonly field: string;
  readonly scopes: readonly string[];
  /** The repo of a name that has none. */
  readonly repo?: string;
}

/** The uids that a filter by the name of an image asks for: none for an empty one, undefined without it. */
export async function imageUids(
  session: ReadSession,
  name: string | undefined,
  place: Place,
): Promise<readonly string[] | undefined> {
  if (name === undefined) return undefined;
  return name === "" ? [] : [(await findImage(session, name, place)).uid];
}

/**
 * Finds an image in these scopes.
 * Errors: INVALID_ARGUMENT for another form, or for a repo name that several repos have; NOT_FOUND.
 */
export async function findImage(
  session: ReadSession,
  name: string,
  { field, scopes, repo: byDefault = "" }: Place,
): Promise<FoundImage> {
  const { repo, tag, digest } = parse(field, name);
  const [repoUid, other] = await findRepos(session, repo || byDefault, scopes);
  if (other !== undefined)
    throw invalid({ field, description: `several repos have the name ${JSON.stringify(repo)}: give the uid of one` });
  const found = repoUid && (digest ?? (await digestOf(session, repoUid, tag!)));
  if (!found) throw notFound({ type: "registry.platform.internal/Image", uid: name });
  return { repo: repoUid, digest: found, uid: imageUid(repoUid, found) };
}

function parse(field: string, name: string): ImageName {
  const [, ofDigest, digest] = digestName.exec(name) ?? [];
  if (digest !== undefined) return { repo: ofDigest!, digest };
  const [, ofTag, tag] = tagName.exec(name) ?? [];
  if (tag !== undefined) return { repo: ofTag!, tag };
  throw invalid({ field, description: form });
}

async function digestOf(session: ReadSession, repoUid: string, tag: string): Promise<string | undefined> {
  const row = await session.first(tags.table, { parent: repoUid, where: [{ column: "name", equals: tag }] });
  return row && (row.columns.digest as string);
}
