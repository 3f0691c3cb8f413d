/** ListComponents: the components of a selection of images, each once. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ListComponentsRequest,
  ListComponentsResponseSchema,
  ListedComponentSchema,
  type Occurrence,
  OccurrenceSchema,
} from "../../../gen/platform/findings/v1/images_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { unmatchedReason } from "../../matching/index.ts";
import { databaseOf, environmentOf, messagePageLength, openList } from "../../resource/index.ts";
import { keyComparison, type ReadSession, type ScalarValue } from "../../store/index.ts";
import { componentId, type StoredComponent } from "../matches/components.ts";
import { componentOfPackage } from "../registry/image-components.ts";
import { readImages } from "../registry/images.ts";
import { readImageLists } from "../registry/package-lists.ts";
import { endedComponents } from "./end-of-life.ts";
import { countMembers, numbersIn, readImagesOf } from "./found-findings.ts";
import { imageUids } from "./image-names.ts";
import { countLevels } from "./image-views.ts";
import type { DecodedImage, Generation, WideTurn } from "./known/components.ts";
import type { Resolved } from "./known/resolved.ts";
import { Leading } from "./leading.ts";
import { componentMessage } from "./messages.ts";
import { wantedPackages } from "./package-filter.ts";
import { selectImages } from "./selected-images.ts";

const sortable = {
  sortNames: { package: "package", version: "version", image_count: "image_count" },
  defaultOrder: [
    { column: "package", descending: false },
    { column: "version", descending: false },
  ],
};

/** A component of the selection. */
interface Listed {
  readonly number: number;
  readonly component: StoredComponent;
  readonly imageCount: number;
  readonly key: readonly ScalarValue[];
}

/** The components between two pauses. */
const portion = 100;

/** Errors: INVALID_ARGUMENT, NOT_FOUND for an image that does not exist. */
export async function listComponents(
  request: ListComponentsRequest,
  known: Generation,
  context: HandlerContext,
  turn: WideTurn,
) {
  const { query, order, after, pageSize, tokenAfter } = openList(sortable, request, context);
  const session = databaseOf(context);
  const scopes = scopesOf(context);
  const { uidp, repo, onlyTagged, image } = query;
  const uids = await imageUids(session, image, { field: "image", scopes });
  const selection = await selectImages(session, { uidp, repo, onlyTagged, uids }, scopes);
  const images = await readImagesOf(session, known, selection, turn);
  const held = await countMembers(session, known, images);
  const counts = byComponent(known, held);
  const numbers = numbersIn(counts);
  await known.loadComponents(session, numbers);
  if (query.unmatched !== undefined) await known.load(session, numbers);
  const { nowMs } = environmentOf(context);
  const endedOfAll = query.endOfLife === undefined ? undefined : await endedComponents(session, known, numbers, nowMs);
  const isWanted = wantedPackages(query);
  const licenses = new Set(query.licenses);
  const terms = [...order, { column: "purl", descending: false }];
  const compare = keyComparison(terms);
  const leading = new Leading<Listed>(request.skip + pageSize + 1, (a, b) => compare(a.key, b.key));
  let total = 0;
  for (const number of numbers) {
    const component = known.component(number);
    if (isWanted?.(component) === false) continue;
    if (licenses.size > 0 && !component.licenses.some((license) => licenses.has(license))) continue;
    if (endedOfAll !== undefined && endedOfAll.has(number) !== query.endOfLife) continue;
    if (query.unmatched !== undefined && (reasonOf(known, number) !== undefined) !== query.unmatched) continue;
    total++;
    const imageCount = counts[number]!;
    const key = terms.map(({ column }) => orderValue(component, imageCount, column));
    if (after === undefined || compare(key, after) > 0) leading.add({ number, component, imageCount, key });
    if (total % portion === 0) await session.pause();
  }
  const occurrences = images.length === 1 && uids !== undefined ? await occurrencesIn(session, images[0]!) : undefined;
  const rest = leading.items().slice(request.skip);
  const page = rest.slice(0, pageSize);
  const shown = page.map(({ number }) => number);
  await known.load(session, numbersOf(known, shown, held));
  const decided = await known.decideAmong(session, images, numbersOf(known, shown, held));
  const heldNow = decided === images ? held : await countMembers(session, known, decided);
  const ended = endedOfAll ?? (await endedComponents(session, known, shown, nowMs));
  const messages = page.map(({ number, component, imageCount }) =>
    create(ListedComponentSchema, {
      component: componentMessage(component),
      imageCount,
      levelCounts: countLevels(openIn(known, numbersOf(known, [number], heldNow))),
      unmatchedReason: reasonOf(known, number) ?? "",
      endOfLife: ended.has(number),
      occurrences: occurrences?.get(component.id) ?? [],
    }),
  );
  const length = messagePageLength(ListedComponentSchema, messages);
  const last = length < rest.length ? page[length - 1] : undefined;
  return create(ListComponentsResponseSchema, {
    components: messages.slice(0, length),
    totalCount: BigInt(total),
    skipped: request.skip,
    ...(last && { nextPageToken: tokenAfter(last.key) }),
  });
}

/** How many images contain each component, whatever findings it has there. @param held with variants told apart. */
function byComponent(known: Generation, held: Uint32Array): Uint32Array {
  const counts = new Uint32Array(held.length);
  for (let number = 0; number < held.length; number++) counts[known.componentOf(number)]! += held[number]!;
  return counts;
}

/** The numbers of components, and of their variants, that any image contains. */
function numbersOf(known: Generation, components: readonly number[], held: Uint32Array): readonly number[] {
  return components.flatMap((number) => known.allNumbersOf(number)).filter((number) => held[number]! > 0);
}

/** What is open of a component with any of these numbers, each vulnerability once. */
function openIn(known: Generation, numbers: readonly number[]): Iterable<Resolved> {
  if (numbers.length === 1) return known.open(numbers[0]!);
  const all = numbers.flatMap((number) => known.open(number));
  return new Map(all.map((finding) => [finding.vulnerability.uid, finding])).values();
}

/** Why a component that was loaded is not matched, or not with all that is said of its package. */
function reasonOf(known: Generation, number: number) {
  return unmatchedReason(known.component(number)) ?? known.reason(number);
}

/** Where the components of an image are, by id: in the image itself, and in each of its platforms. */
async function occurrencesIn(session: ReadSession, { repo, digest }: DecodedImage) {
  const platforms = (await readImages(session, repo, [digest])).get(digest)?.platforms ?? [];
  const lists = await readImageLists(session, repo, [digest, ...platforms.map((platform) => platform.digest)]);
  const found = new Map<string, Occurrence[]>();
  for (const [part, { packages }] of lists)
    for (const each of packages) {
      const { locations = [], layer = "", owner = "" } = each;
      if (locations.length === 0 && layer === "" && owner === "") continue;
      const id = componentId(componentOfPackage(each).purl);
      const occurrence = create(OccurrenceSchema, { digest: part, locations: [...locations], layer, owner });
      found.set(id, [...(found.get(id) ?? []), occurrence]);
    }
  return found;
}

function orderValue(component: StoredComponent, imageCount: number, column: string): ScalarValue {
  switch (column) {
    case "image_count":
      return imageCount;
    case "version":
      return component.version;
    case "package":
      return `${component.name} ${component.type} ${component.namespace}`;
    default:
      return component.purl;
  }
}
