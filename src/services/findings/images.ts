/** The service of images: what is in them, what is known about it, and how two of them differ. */
import { create } from "@bufbuild/protobuf";
import {
  ImageSchema,
  ImagesService,
  type ListImagesRequest,
  ListImagesResponseSchema,
} from "../../../gen/platform/findings/v1/images_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { invalid, notFound } from "../../errors.ts";
import { componentOf, packageKeyOfUrl, parseVers } from "../../matching/index.ts";
import {
  databaseOf,
  environmentOf,
  implement,
  type MountedService,
  messagePageLength,
  openList,
  type Resource,
  requireResource,
} from "../../resource/index.ts";
import { columnValue, type ReadSession, type Row, type Selection } from "../../store/index.ts";
import { comparePackageVersions } from "../../versions/index.ts";
import { componentsOf } from "../matches/components.ts";
import { imageContents } from "../matches/tables.ts";
import { imageUid } from "../registry/images.ts";
import { compareImages } from "./compare-images.ts";
import { endedComponents, endedImages } from "./end-of-life.ts";
import { componentsAsked, countMembers, findFindings, numbersIn, readImagesOf } from "./found-findings.ts";
import { imageViews } from "./image-views.ts";
import type { Generation, KnownComponents, WideTurn } from "./known/components.ts";
import type { FindingFilter } from "./known/counting-findings.ts";
import { listComponents } from "./list-components.ts";
import { statesOf } from "./messages.ts";
import { containing, selectImages } from "./selected-images.ts";
import { listTagHistory } from "./tag-history.ts";

const sortable = {
  sortNames: { repo: "parent", digest: "digest", create_time: "create_time_us", created_at: "create_time_us" },
  defaultOrder: [
    { column: "parent", descending: false },
    { column: "digest", descending: false },
  ],
};

/** The columns that the view of an image needs: sets of components are large. */
const shownColumns = ["digest", "has_sbom"];

/** @param repos the parent of images. @param memory what is known about components. */
export function findingImagesService(repos: Resource, memory: KnownComponents): MountedService {
  return implement(ImagesService, [], {
    async getImage({ repo, digest }, context) {
      await requireResource(repos, repo, context);
      const session = databaseOf(context);
      const row = await session.get(imageContents, imageUid(repo, digest));
      if (row === undefined) throw notFound({ type: "registry.platform.internal/Image", uid: digest });
      return (await imageViews(session, await memory.open(session), [row]))[0]!;
    },

    async listImages(request, context) {
      const { query, order, after, pageSize, tokenAfter } = openList(sortable, request, context);
      const session = databaseOf(context);
      const known = await memory.open(session);
      const { nowMs } = environmentOf(context);
      const place = { scopes: scopesOf(context), nowMs };
      const selection = await memory.inTurn(session, (turn) => selectionFor(session, known, query, { ...place, turn }));
      const page = { orderBy: order, ...(after && { after }), skip: request.skip, limit: pageSize + 1 };
      const found = { ...selection, ...page, columns: shownColumns };
      const [rows, totalCount] = await Promise.all([
        session.list(imageContents, found),
        session.count(imageContents, selection),
      ]);
      const views = await imageViews(session, known, rows.slice(0, pageSize));
      const length = messagePageLength(ImageSchema, views);
      const last = length < rows.length ? rows[length - 1] : undefined;
      return create(ListImagesResponseSchema, {
        images: views.slice(0, length),
        totalCount: BigInt(totalCount),
        skipped: request.skip,
        ...(last && { nextPageToken: tokenAfter(keyOf(last, order)) }),
      });
    },

    compareImages: async (request, context) => compareImages(request, await memory.open(databaseOf(context)), context),
    listTagHistory,
    listComponents: (request, context) =>
      memory.inTurn(databaseOf(context), async (turn) =>
        listComponents(request, await memory.open(databaseOf(context)), context, turn),
      ),
  });
}

function keyOf(row: Row, order: readonly { readonly column: string }[]) {
  return [...order.map(({ column }) => columnValue(row, column)), row.uid];
}

/** The images that a request asks for. Errors: INVALID_ARGUMENT for a package URL or a range of versions. */
async function selectionFor(
  session: ReadSession,
  known: Generation,
  query: ListImagesRequest,
  { scopes, nowMs, turn }: { readonly scopes: readonly string[]; readonly nowMs: number; readonly turn: WideTurn },
): Promise<Selection> {
  const { uidp, repo, tags, onlyTagged, digests } = query;
  const components = await componentsOfPackage(session, query);
  if (components?.length === 0) return { within: [] };
  const selection = await selectImages(session, { uidp, repo, tags, onlyTagged, digests, components }, scopes);
  const filter = findingFilter(query);
  const restricted = filter === undefined ? selection : await withFindings(session, known, selection, filter, turn);
  return bySbom(await byEndOfLife(session, known, restricted, { ...query, nowMs, turn }), query);
}

/** The part of a selection that has reached its end of life, or has not. */
async function byEndOfLife(
  session: ReadSession,
  known: Generation,
  selection: Selection,
  { endOfLife, nowMs, turn }: Pick<ListImagesRequest, "endOfLife"> & { nowMs: number; turn: WideTurn },
): Promise<Selection> {
  if (endOfLife === undefined) return selection;
  const images = await readImagesOf(session, known, selection, turn);
  const numbers = numbersIn(await countMembers(session, known, images));
  await known.loadComponents(session, numbers);
  const ended = await endedImages(session, images, await endedComponents(session, known, numbers, nowMs), nowMs);
  const uids = new Set(ended.map(({ uid }) => uid));
  return { ...selection, uids: images.map(({ uid }) => uid).filter((uid) => uids.has(uid) === endOfLife) };
}

/** The part of a selection that has a bill of materials, or has none. */
function bySbom(restricted: Selection, query: Pick<ListImagesRequest, "hasSbom">): Selection {
  if (query.hasSbom === undefined) return restricted;
  return { ...restricted, where: [...(restricted.where ?? []), { column: "has_sbom", equals: query.hasSbom ? 1 : 0 }] };
}

/** Which findings an image must have; undefined when any image is asked for. */
function findingFilter(query: ListImagesRequest): FindingFilter | undefined {
  const { vulnerabilityIds, levels, minEpss, knownExploited, states } = query;
  const isAsked =
    vulnerabilityIds.length > 0 || levels.length > 0 || minEpss !== undefined || knownExploited !== undefined;
  return isAsked || states.length > 0
    ? { states: statesOf(states), vulnerabilityIds, levels: new Set(levels), minEpss, knownExploited }
    : undefined;
}

/** The part of a selection that has findings which count. */
async function withFindings(
  session: ReadSession,
  known: Generation,
  selection: Selection,
  filter: FindingFilter,
  turn: WideTurn,
): Promise<Selection> {
  const asked = await componentsAsked(session, known, selection, filter);
  if (asked?.isExact) return containing(selection, asked.ids);
  const found = await findFindings(session, known, selection, filter, turn);
  const isCounting = new Uint8Array(known.size);
  for (const number of found.numbers) isCounting[number] = found.findings.of(number).length > 0 ? 1 : 0;
  const uids: string[] = [];
  for (const { uid, numbers } of found.images) {
    if (numbers.some((number) => isCounting[number] === 1)) uids.push(uid);
    await session.pause();
  }
  return { ...selection, uids };
}

/** The ids of the components that `purl` and `version` ask for; undefined when they ask for none. */
async function componentsOfPackage(
  session: ReadSession,
  { purl, version }: ListImagesRequest,
): Promise<readonly string[] | undefined> {
  if (purl === "" || version === "") return [];
  if (purl === undefined) {
    if (version !== undefined) throw invalid({ field: "version", description: "needs purl beside it" });
    return undefined;
  }
  const key = packageKeyOfUrl(purl);
  if (key === undefined) throw invalid({ field: "purl", description: "is not a package URL" });
  const exact = componentOf(purl);
  const range = version === undefined ? undefined : parseVers(version);
  if (typeof range === "string") throw invalid({ field: "version", description: range });
  const found: string[] = [];
  for await (const some of componentsOf(session, [key]))
    for (const component of some) {
      const isExact =
        typeof exact === "string" || comparePackageVersions(component.type, exact.version, component.version) === 0;
      if (isExact && (range === undefined || range.contains(component.version))) found.push(component.id);
    }
  return found;
}
