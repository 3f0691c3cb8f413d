/** The order of findings, and pages of it. */
import { keyComparison, type OrderTerm, type ReadSession, type ScalarValue } from "../../store/index.ts";
import type { StoredComponent } from "../matches/components.ts";
import type { FoundFindings } from "./found-findings.ts";
import { sinceMsAt, sinceMsIn } from "./image-members.ts";
import type { DecodedImage, Generation } from "./known-components.ts";
import { Leading } from "./leading.ts";
import type { Resolved } from "./resolved.ts";

/** A finding of one component in one image. */
export interface PlacedFinding {
  readonly component: StoredComponent;
  readonly finding: Resolved;
  readonly image: DecodedImage;
  /** Since when the image is known to have the component, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** The names of `order_by`. */
export const findingSortNames = {
  level: "level",
  score: "score",
  epss: "epss",
  first_seen: "first_seen",
  package: "package",
  vulnerability_id: "vulnerability_id",
  repo: "repo",
} as const;

/** The most severe first. */
export const findingDefaultOrder: readonly OrderTerm[] = [
  { column: "level", descending: true },
  { column: "score", descending: true },
];

const ties: readonly OrderTerm[] = ["vulnerability_id", "package", "repo", "image"].map((column) => ({
  column,
  descending: false,
}));

/** What depends on the image. */
const ofImage: ReadonlySet<string> = new Set(["first_seen", "repo", "image"]);

/** The time from which on a finding is known: of the image and of the sources, the later. */
export function firstSeenMs({ finding, sinceMs }: Pick<PlacedFinding, "finding" | "sinceMs">): number {
  return Math.max(finding.sinceMs, sinceMs);
}

/** Which part of all findings to read. */
interface FindingPart {
  readonly order: readonly OrderTerm[];
  /** The key of the finding before the part. */
  readonly after: readonly ScalarValue[] | undefined;
  readonly skip: number;
  readonly limit: number;
  /** Which findings count, by when they were first seen, in milliseconds since 1970. */
  readonly isIn: ((firstSeenMs: number) => boolean) | undefined;
}

/** A part of all findings in an order. */
interface FindingPage {
  readonly findings: readonly PlacedFinding[];
  readonly total: number;
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** A page of findings, and how many there are. */
export async function pageOfFindings(
  session: ReadSession,
  known: Generation,
  found: FoundFindings,
  part: FindingPart,
): Promise<FindingPage> {
  const order = completed(part.order);
  const isByPair = part.isIn === undefined && isEndedByImage(order);
  const { findings, total } = isByPair
    ? await byPairs(session, known, found, { ...part, order })
    : await byFindings(session, known, found, { ...part, order });
  return { findings: findings.slice(0, part.limit), total, hasMore: findings.length > part.limit };
}

/** The key of a finding in an order. */
export function keyOf(placed: PlacedFinding, given: readonly OrderTerm[]): readonly ScalarValue[] {
  return completed(given).map(({ column }) => orderValue(placed, column));
}

/** A component and one of its findings: what all images that contain the component have in common. */
interface Pair {
  readonly number: number;
  readonly component: StoredComponent;
  readonly finding: Resolved;
  readonly key: readonly ScalarValue[];
}

/** In an order that looks at the image last: the pairs in order, and of each that the page reaches its images. */
async function byPairs(
  session: ReadSession,
  known: Generation,
  { images, findings }: FoundFindings,
  { order, after, skip, limit }: FindingPart,
) {
  const held = await countImages(session, known, { images, findings });
  const ofPair = order.slice(0, -2);
  // Each pair in an image is at least one finding, but that of the finding before the part may have none left.
  const atMost = skip + limit + (after === undefined ? 1 : 2);
  const compare = keyComparison(ofPair);
  const afterPair = after?.slice(0, ofPair.length);
  const leading = new Leading<Pair>(atMost, (a, b) => compare(a.key, b.key));
  let total = 0;
  for (const [number, some] of findings) {
    if (held[number] === 0) continue; // it is in other images only
    const component = known.component(number);
    total += held[number]! * some.length;
    for (const finding of some) {
      const key = ofPair.map(({ column }) => orderValue({ component, finding }, column));
      if (afterPair === undefined || compare(key, afterPair) >= 0) leading.add({ number, component, finding, key });
    }
    await session.pause();
  }
  const page: PlacedFinding[] = [];
  let left = skip;
  for (const { number, component, finding, key } of leading.items()) {
    if (page.length > limit) break;
    const isOfLast = afterPair !== undefined && compare(key, afterPair) === 0;
    if (!isOfLast && left >= held[number]!) {
      left -= held[number]!;
      continue;
    }
    for (const image of images) {
      const sinceMs = sinceMsIn(image, number);
      if (sinceMs === undefined || (isOfLast && compareImages(image, after!) <= 0)) continue;
      if (left > 0) left--;
      else if (page.push({ component, finding, image, sinceMs }) > limit) break;
    }
    await session.pause();
  }
  return { findings: page, total };
}

/** In any order: all findings, of which only as many are kept as the page can show. */
async function byFindings(
  session: ReadSession,
  known: Generation,
  { images, findings }: FoundFindings,
  { order, after, skip, limit, isIn }: FindingPart,
) {
  interface Keyed {
    readonly key: readonly ScalarValue[];
    readonly placed: PlacedFinding;
  }
  const compare = keyComparison(order);
  const leading = new Leading<Keyed>(skip + limit + 1, (a, b) => compare(a.key, b.key));
  let total = 0;
  for (const image of images) {
    for (let i = 0; i < image.numbers.length; i++) {
      const number = image.numbers[i]!;
      const some = findings.get(number);
      if (some === undefined) continue;
      const [component, sinceMs] = [known.component(number), sinceMsAt(image, i)];
      for (const finding of some) {
        const placed = { component, finding, image, sinceMs };
        if (isIn !== undefined && !isIn(firstSeenMs(placed))) continue;
        total++;
        // There may be millions, of which the page shows few: most are passed over without making their keys.
        if (leading.last !== undefined && !isBefore(placed, leading.last.key, order)) continue;
        const key = order.map(({ column }) => orderValue(placed, column));
        if (after === undefined || compare(key, after) > 0) leading.add({ key, placed });
      }
    }
    await session.pause();
  }
  const placed = leading.items().map((each) => each.placed);
  return { findings: placed.slice(skip), total };
}

/** Whether a finding is before a key in an order. Values are only looked up until one differs. */
function isBefore(placed: PlacedFinding, key: readonly ScalarValue[], order: readonly OrderTerm[]): boolean {
  for (let i = 0; i < order.length; i++) {
    const { column, descending } = order[i]!;
    const value = orderValue(placed, column);
    if (value !== key[i]) return value! < key[i]! !== descending;
  }
  return false;
}

/** How many of the images contain each component that has findings, by its number. */
async function countImages(session: ReadSession, known: Generation, { images, findings }: FoundFindings) {
  const held = new Uint32Array(known.size);
  if (findings.size < 50) {
    for (const number of findings.keys()) {
      for (const image of images) if (sinceMsIn(image, number) !== undefined) held[number]!++;
      await session.pause();
    }
    return held;
  }
  for (const { numbers } of images) {
    for (const number of numbers) held[number]!++;
    await session.pause();
  }
  return held;
}

/** Whether nothing but the last two columns, the place of the image, depends on the image. */
function isEndedByImage(order: readonly OrderTerm[]): boolean {
  const [repo, image] = order.slice(-2);
  const isLast = repo!.column === "repo" && !repo!.descending && image!.column === "image";
  return isLast && !order.slice(0, -2).some(({ column }) => ofImage.has(column));
}

function completed(given: readonly OrderTerm[]): readonly OrderTerm[] {
  return [...given, ...ties.filter(({ column }) => given.every((term) => term.column !== column))];
}

function orderValue(
  { component, finding, image, sinceMs = 0 }: Pick<PlacedFinding, "component" | "finding"> & Partial<PlacedFinding>,
  column: string,
): ScalarValue {
  const { vulnerability } = finding;
  switch (column) {
    case "level":
      return vulnerability.level;
    case "score":
      return vulnerability.score ?? -1;
    case "epss":
      return vulnerability.epss ?? -1;
    case "package":
      return component.purl;
    case "vulnerability_id":
      return vulnerability.id;
    case "first_seen":
      return firstSeenMs({ finding, sinceMs });
    case "repo":
      return image!.repo;
    default:
      return image!.uid;
  }
}

/** The place of an image beside that of a key, whose last values are the repo and the image. */
function compareImages({ uid }: DecodedImage, key: readonly ScalarValue[]): number {
  const last = String(key.at(-1));
  return uid < last ? -1 : Number(uid > last);
}
