/** The order of findings, and pages of it. */
import { keyComparison, type OrderTerm, type ReadSession, type ScalarValue } from "../../store/index.ts";
import type { StoredComponent } from "../matches/components.ts";
import type { FoundFindings } from "./found-findings.ts";
import type { DecodedImage, Generation } from "./known/components.ts";
import { sinceMsAt, sinceMsIn } from "./known/image-members.ts";
import type { Resolved } from "./known/resolved.ts";
import { Leading } from "./leading.ts";

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

/** A component and one of its vulnerabilities: what all images that contain the component have in common. */
interface Pair {
  readonly component: StoredComponent;
  readonly key: readonly ScalarValue[];
  /** The findings, by the numbers that the component has: several if it has others in some images. */
  readonly findings: Map<number, Resolved>;
  /** How many images have one of them. */
  imageCount: number;
}

/** The components between two pauses. */
const portion = 100;

/** In an order that looks at the image last: the pairs in order, and of each that the page reaches its images. */
async function byPairs(
  session: ReadSession,
  known: Generation,
  { images, numbers, findings, held }: FoundFindings,
  { order, after, skip, limit }: FindingPart,
) {
  const ofPair = order.slice(0, -2);
  // Each pair in an image is at least one finding, but that of the finding before the part may have none left.
  const atMost = skip + limit + (after === undefined ? 1 : 2);
  const compare = keyComparison(ofPair);
  const afterPair = after?.slice(0, ofPair.length);
  const leading = new Leading<Pair>(atMost, (a, b) => compare(a.key, b.key));
  const withVariants = new Map<string, Pair>();
  let total = 0;
  let passed = 0;
  for (const number of numbers) {
    if (held === undefined || ++passed % portion === 0) await session.pause();
    const some = findings.of(number);
    const imageCount = some.length === 0 ? 0 : (held?.[number] ?? countImages(images, number));
    if (imageCount === 0) continue; // it has none, or is in other images only
    const component = known.component(number);
    const hasVariants = known.hasVariants(known.componentOf(number));
    total += imageCount * some.length;
    for (const finding of some) {
      if (leading.last !== undefined && !isBefore({ component, finding }, leading.last.key, ofPair)) continue;
      const key = ofPair.map(({ column }) => orderValue({ component, finding }, column));
      if (afterPair !== undefined && compare(key, afterPair) < 0) continue;
      const name = hasVariants ? `${component.id} ${finding.vulnerability.uid}` : "";
      const other = hasVariants ? withVariants.get(name) : undefined;
      if (other !== undefined) {
        other.findings.set(number, finding);
        other.imageCount += imageCount;
        continue;
      }
      const pair = { component, key, findings: new Map([[number, finding]]), imageCount };
      if (hasVariants) withVariants.set(name, pair);
      else leading.add(pair);
    }
  }
  for (const pair of withVariants.values()) leading.add(pair);
  const page: PlacedFinding[] = [];
  let left = skip;
  for (const { component, key, findings: ofNumbers, imageCount } of leading.items()) {
    if (page.length > limit) break;
    const isOfLast = afterPair !== undefined && compare(key, afterPair) === 0;
    if (!isOfLast && left >= imageCount) {
      left -= imageCount;
      continue;
    }
    for (const image of images) {
      if (isOfLast && compareImages(image, after!) <= 0) continue;
      for (const [number, finding] of ofNumbers) {
        const sinceMs = sinceMsIn(image, number);
        if (sinceMs === undefined) continue;
        if (left > 0) left--;
        else page.push({ component, finding, image, sinceMs });
      }
      if (page.length > limit) break;
    }
    await session.pause();
  }
  return { findings: page, total };
}

/** In any order: all findings, of which only as many are kept as the page can show. */
async function byFindings(
  session: ReadSession,
  known: Generation,
  { images, numbers, findings }: FoundFindings,
  { order, after, skip, limit, isIn }: FindingPart,
) {
  interface Keyed {
    readonly key: readonly ScalarValue[];
    readonly placed: PlacedFinding;
  }
  const compare = keyComparison(order);
  const leading = new Leading<Keyed>(skip + limit + 1, (a, b) => compare(a.key, b.key));
  const counts = new Uint32Array(known.size);
  const isByTime = order[0]!.column === "first_seen";
  const bounds = new Float64Array(isByTime ? known.size : 0);
  for (const number of numbers) {
    const some = findings.of(number);
    counts[number] = some.length;
    if (isByTime && some.length > 0) bounds[number] = boundOf(some, order[0]!);
    if (number % portion === 0) await session.pause();
  }
  let total = 0;
  for (const image of images) {
    for (let i = 0; i < image.numbers.length; i++) {
      const number = image.numbers[i]!;
      if (counts[number] === 0) continue;
      // There may be millions, of which the page shows few: most are only counted.
      if (isByTime && isIn === undefined && leading.last !== undefined) {
        const ms = Math.max(bounds[number]!, sinceMsAt(image, i));
        const last = leading.last.key[0] as number;
        if (order[0]!.descending ? ms < last : ms > last) {
          total += counts[number]!;
          continue;
        }
      }
      const some = findings.of(number);
      const each = { component: known.component(number), finding: some[0]!, image, sinceMs: sinceMsAt(image, i) };
      for (const finding of some) {
        each.finding = finding;
        if (isIn !== undefined && !isIn(firstSeenMs(each))) continue;
        total++;
        if (leading.last !== undefined && !isBefore(each, leading.last.key, order)) continue;
        const key = order.map(({ column }) => orderValue(each, column));
        if (after === undefined || compare(key, after) > 0) leading.add({ key, placed: { ...each } });
      }
    }
    await session.pause();
  }
  const placed = leading.items().map((each) => each.placed);
  return { findings: placed.slice(skip), total };
}

/** A time that none of these findings of a component goes before, in an order of their times. */
function boundOf(some: readonly Resolved[], { descending }: OrderTerm): number {
  const times = some.map(({ sinceMs }) => sinceMs);
  return descending ? Math.max(...times) : Math.min(...times);
}

/**
 * Whether a finding is before a key in an order. There may be millions of findings, of which a page shows few: most are
 * passed over by this, without making their keys.
 */
function isBefore(placed: Placeable, key: readonly ScalarValue[], order: readonly OrderTerm[]): boolean {
  for (let i = 0; i < order.length; i++) {
    const { column, descending } = order[i]!;
    const value = orderValue(placed, column);
    if (value !== key[i]) return value! < key[i]! !== descending;
  }
  return false;
}

/** How many of the images contain a component. */
function countImages(images: readonly DecodedImage[], number: number): number {
  let count = 0;
  for (const image of images) if (sinceMsIn(image, number) !== undefined) count++;
  return count;
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

/** A finding of a component, in an image if the order looks at it. */
type Placeable = Pick<PlacedFinding, "component" | "finding"> & Partial<PlacedFinding>;

function orderValue({ component, finding, image, sinceMs = 0 }: Placeable, column: string): ScalarValue {
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
