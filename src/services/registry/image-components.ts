/**
 * The components of images: derived from the package lists of their digests, in the transaction that changes a list or
 * an image. An index has the components of all its platforms. Each component has the time since which the image is
 * known to have it.
 */
import { componentOf } from "../../matching/index.ts";
import { formatPackageUrl, isDistributionType } from "../../package-url.ts";
import { newRow, nextRows, type Saved, saveContent } from "../../resource/index.ts";
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { componentId, genericComponent } from "../matches/components.ts";
import { componentsIn, imageBody } from "../matches/image-body.ts";
import { type ComponentToSave, saveComponents } from "../matches/save-components.ts";
import { heldId, imageContents, imageMembers } from "../matches/tables.ts";
import { type Image, images, imageUid, readImages, storeImage } from "./images.ts";
import { type ImagePackage, readImageLists } from "./package-lists.ts";

/** Stores an image of a repo. What was read of its bills of materials stays, if it is not given. */
export async function saveImage(session: WriteSession, repoUid: string, image: Image, nowMs: number): Promise<Saved> {
  const saved = await storeImage(session, repoUid, image, nowMs);
  if (saved !== "unchanged") await refreshImageComponents(session, repoUid, image.digest, nowMs);
  return saved;
}

/** The images of one transaction of {@link refreshImages}. */
const portion = 10;

/** Derives the components of the next images after the uid `after`. Returns where the next portion begins. */
export async function refreshImages(
  session: WriteSession,
  _nowMs: number,
  after?: string,
): Promise<string | undefined> {
  const { rows, next } = await nextRows(session, images, { limit: portion }, after);
  for (const { parent, columns, createTimeUs } of rows)
    await refreshImageComponents(session, parent, columns.digest as string, Math.floor(createTimeUs / 1000));
  return next;
}

/** Derives the components of a digest again, and those of the indexes that it is a part of. */
export async function refreshImageComponents(
  session: WriteSession,
  repoUid: string,
  digest: string,
  nowMs: number,
): Promise<void> {
  const indexes = await indexesWith(session, repoUid, digest);
  const image = (await readImages(session, repoUid, [digest])).get(digest);
  const parts = image?.platforms.map((platform) => platform.digest) ?? [];
  // A list of packages may come before the registry's notification of the image.
  if (image !== undefined || (await readImageLists(session, repoUid, [digest])).size > 0)
    await save(session, repoUid, { digest, parts, isPart: indexes.length > 0 }, nowMs);
  else await remove(session, imageUid(repoUid, digest));
  for (const index of indexes) await save(session, repoUid, contentOf(index), nowMs);
  // A platform that is stored before its index learns here that it is a part.
  for (const part of parts) await setPart(session, repoUid, { part, of: digest }, true);
}

/** Removes the components of a digest, and derives those of the indexes that it was a part of again. */
export async function removeImageComponents(
  session: WriteSession,
  repoUid: string,
  digest: string,
  nowMs: number,
): Promise<void> {
  const row = await remove(session, imageUid(repoUid, digest));
  for (const index of await indexesWith(session, repoUid, digest))
    await save(session, repoUid, contentOf(index), nowMs);
  for (const part of row === undefined ? [] : contentOf(row).parts)
    if ((await indexesWith(session, repoUid, part)).length === 0)
      await setPart(session, repoUid, { part, of: digest }, false);
}

/** What the row of an image has beside its components. */
interface ImageContent {
  readonly digest: string;
  readonly parts: readonly string[];
  readonly isPart: boolean;
}

function contentOf({ columns }: Row): ImageContent {
  const { digest, parts, is_part } = columns as Readonly<Record<string, unknown>>;
  return { digest: digest as string, parts: parts as readonly string[], isPart: is_part === 1 };
}

async function remove(session: WriteSession, uid: string): Promise<Row | undefined> {
  await session.remove(imageMembers, uid);
  return session.remove(imageContents, uid);
}

/** The images that list a digest as one of their platforms. The platform of an image without an index is itself. */
async function indexesWith(session: ReadSession, repoUid: string, digest: string): Promise<Row[]> {
  const where = [{ column: "parts", hasAny: [digest] }];
  const rows = await session.list(imageContents, { parent: repoUid, where, limit: maxIndexes });
  return rows.filter(({ columns }) => columns.digest !== digest);
}

/** A manifest is in few indexes: those that were pushed with equal content for its platform. */
const maxIndexes = 1000;

async function setPart(
  session: WriteSession,
  repoUid: string,
  { part, of }: { readonly part: string; readonly of: string },
  isPart: boolean,
): Promise<void> {
  const uid = imageUid(repoUid, part);
  const members = part === of ? undefined : await session.get(imageMembers, uid);
  if (members === undefined) return;
  const components = heldIn(componentsIn(members.body), isPart);
  await session.setColumns(imageContents, uid, { is_part: isPart ? 1 : 0, components });
}

function heldIn(members: ReadonlyMap<string, number>, isPart: boolean): string[] {
  return [...members.keys()].sort().map((id) => heldId(id, isPart));
}

async function save(
  session: WriteSession,
  repoUid: string,
  { digest, parts, isPart }: ImageContent,
  nowMs: number,
): Promise<void> {
  const lists = await readImageLists(session, repoUid, [digest, ...parts]);
  const found = new Map<string, FoundComponent>();
  for (const { packages } of lists.values()) addPackages(found, packages);
  await saveComponents(session, found, nowMs);
  const uid = imageUid(repoUid, digest);
  const members = await session.get(imageMembers, uid);
  const before = members && componentsIn(members.body);
  const since = new Map([...found.keys()].map((id) => [id, before?.get(id) ?? nowMs]));
  const columns = {
    digest,
    is_part: isPart ? 1 : 0,
    has_sbom: lists.size > 0 ? 1 : 0,
    parts: [...parts],
    components: heldIn(since, isPart),
  };
  const owners = new Map([...found].flatMap(([id, { owner }]) => (owner === undefined ? [] : [[id, owner] as const])));
  const ofMembers = { uid, parent: repoUid, body: imageBody({ since, owners }), columns: {} };
  await saveContent(session, imageMembers, ofMembers, nowMs, members);
  const row = await session.get(imageContents, uid);
  const content = { body: new Uint8Array(), columns };
  if (row === undefined) await session.insert(imageContents, newRow(uid, repoUid, nowMs, content));
  else await session.update(imageContents, { ...row, ...content, updateTimeUs: nowMs * 1000 });
}

/** A component of an image. */
interface FoundComponent extends ComponentToSave {
  /** The id of the package of a distribution that owns its files wherever it is in the image. */
  readonly owner: string | undefined;
}

/** Adds the components of a list. */
function addPackages(found: Map<string, FoundComponent>, packages: readonly ImagePackage[]): void {
  const listed = packages.map((each) => ({ each, component: componentOfPackage(each) }));
  const byUrl = new Map(listed.map(({ each, component }) => [each.purl, component]));
  for (const { each, component } of listed) {
    const id = componentId(component.purl);
    const owner = each.owner === undefined ? undefined : byUrl.get(each.owner);
    const isOwned = owner !== undefined && isDistributionType(owner.type) && !isDistributionType(component.type);
    const ownerId = isOwned ? componentId(owner.purl) : undefined;
    const other = found.get(id);
    found.set(id, {
      component,
      licenses: [...(other?.licenses ?? []), ...(each.licenses ?? [])],
      owner: other === undefined || other.owner === ownerId ? ownerId : undefined,
    });
  }
}

/** The component of a package of an image. */
export function componentOfPackage({ name, version, type, namespace, distro, origin, originVersion }: ImagePackage) {
  if (type === "") return genericComponent(name, version);
  const component = componentOf(formatPackageUrl({ type, namespace, distro }, name), {
    version,
    origin,
    originVersion,
  });
  return typeof component === "string" ? genericComponent(name, version) : component;
}
