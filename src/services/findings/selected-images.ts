/** The images that a request is about, with what they contain. */
import type { UidpFilter } from "../../../gen/platform/common/uidp_filter_pb.ts";
import { selectionOf } from "../../resource/index.ts";
import type { Condition, ReadSession, Row, Selection, Subtree } from "../../store/index.ts";
import { heldId, imageContents } from "../matches/tables.ts";
import { imageUid } from "../registry/images.ts";
import { repos } from "../registry/repos.ts";
import { tags } from "../registry/tags.ts";

/** Which images a request asks for. */
export interface ImageFilter {
  readonly uidp?: UidpFilter | undefined;
  /** The uid of a repo. */
  readonly repo?: string | undefined;
  /** The uids of images. */
  readonly uids?: readonly string[] | undefined;
  /** Only images that one of these tags names; empty for all. */
  readonly tags?: readonly string[];
  readonly onlyTagged?: boolean;
  readonly digests?: readonly string[];
  /** Only images with one of these components, by id. */
  readonly components?: readonly string[] | undefined;
}

/** The rows that are read at once, and those that an index of sets finds: each further page searches it anew. */
const portion = 500;
const foundPortion = 5000;

/**
 * The selection of a filter among the images in `scopes`. The manifest of a platform in an index is left out, unless
 * the filter names it or asks for tags.
 */
export async function selectImages(
  session: ReadSession,
  filter: ImageFilter,
  scopes: readonly string[],
): Promise<Selection> {
  const { uidp, repo, digests = [], components } = filter;
  const selection = await placeOf(session, uidp, scopes);
  const where: Condition[] = [];
  if (digests.length > 0) where.push({ column: "digest", in: digests });
  const inPlace: Selection = { ...selection, ...(repo !== undefined && { parent: repo }) };
  const uids = await uidsOf(session, filter, inPlace);
  if (uids === undefined && digests.length === 0) where.push(isNoPart);
  return containing({ ...inPlace, where, ...(uids !== undefined && { uids }) }, components);
}

const isNoPart: Condition = { column: "is_part", equals: 0 };

/** The images of a selection that contain one of these components; all of them when none are given. */
export function containing(selection: Selection, ids: readonly string[] | undefined): Selection {
  if (ids === undefined) return selection;
  if (ids.length === 0) return { within: [] };
  const { where = [] } = selection;
  const others = where.filter((condition) => condition !== isNoPart);
  const held = [false, true].slice(0, others.length < where.length ? 1 : 2);
  const hasAny = held.flatMap((isPart) => ids.map((id) => heldId(id, isPart)));
  return { ...selection, where: [...others, { column: "components", hasAny }] };
}

/** Where images are: below the repos that a filter picks, in these scopes. */
async function placeOf(
  session: ReadSession,
  uidp: UidpFilter | undefined,
  scopes: readonly string[],
): Promise<Selection> {
  const ofRepos = selectionOf(scopes, [], uidp);
  // What is below a uid is a range for images as it is for repos.
  if (ofRepos.parent === undefined && ofRepos.uids === undefined) return ofRepos;
  const within: Subtree[] = [];
  for await (const rows of session.pages(repos.table, { ...ofRepos, limit: portion, columns: [] }))
    for (const { uid } of rows) within.push({ root: uid, self: false });
  return { within };
}

/** The uids of the images that a filter names or whose tags it names; undefined when it does neither. */
async function uidsOf(
  session: ReadSession,
  { uids, tags: names = [], onlyTagged = false }: ImageFilter,
  place: Selection,
): Promise<readonly string[] | undefined> {
  if (names.length === 0 && !onlyTagged) return uids;
  const where = names.length === 0 ? [] : [{ column: "name", in: names }];
  const tagged = await taggedUids(session, { ...place, where });
  return uids === undefined ? [...tagged] : uids.filter((uid) => tagged.has(uid));
}

/** The selection of the images in a place that tags name. */
export async function taggedImages(session: ReadSession, place: Selection): Promise<Selection> {
  return { ...place, uids: [...(await taggedUids(session, place))] };
}

/** The uids of images that tags of a selection name. A tag is a child of its repo, as an image is. */
async function taggedUids(session: ReadSession, ofTags: Selection): Promise<ReadonlySet<string>> {
  const tagged = new Set<string>();
  for await (const rows of session.pages(tags.table, { ...ofTags, limit: portion, columns: ["digest"] }))
    for (const { parent, columns } of rows) tagged.add(imageUid(parent, columns.digest as string));
  return tagged;
}

/** The rows of the images of a selection, by uid, in portions. */
export function imageRows(session: ReadSession, selection: Selection): AsyncGenerator<Row[]> {
  const isFound = selection.where?.some(({ column }) => column === "components") === true;
  const limit = isFound ? foundPortion : portion;
  return session.pages(imageContents, { ...selection, limit, columns: ["digest"] });
}

const maxTags = 10;

/** The names of the tags of these images, at most 10 of each, by the uid of the image. */
export async function tagsOf(
  session: ReadSession,
  images: readonly { readonly uid: string; readonly repo: string; readonly digest: string }[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>(images.map(({ uid }) => [uid, []]));
  for (const [repo, ofRepo] of Map.groupBy(images, (image) => image.repo)) {
    const where = [{ column: "digest", in: [...new Set(ofRepo.map(({ digest }) => digest))] }];
    const orderBy = [{ column: "name", descending: false }];
    for await (const rows of session.pages(tags.table, { parent: repo, where, orderBy, limit: portion }))
      for (const { columns } of rows) {
        const names = found.get(imageUid(repo, columns.digest as string));
        if (names !== undefined && names.length < maxTags) names.push(columns.name as string);
      }
  }
  return found;
}
