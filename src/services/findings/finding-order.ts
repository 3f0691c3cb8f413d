/** The order of findings, and pages of it. */
import type { OrderTerm, ReadSession, ScalarValue } from "../../store/index.ts";
import type { Held, ImageOf } from "./found-findings.ts";
import type { Resolved } from "./resolved.ts";

/** A finding of one component in one image. */
export interface PlacedFinding {
  readonly held: Held;
  readonly finding: Resolved;
  readonly at: ImageOf;
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
const ofImage = new Set(["first_seen", "repo", "image"]);

/** The time from which on a finding is known: of the image and of the sources, the later. */
export function firstSeenMs({ finding, at }: Pick<PlacedFinding, "finding" | "at">): number {
  return Math.max(finding.sinceMs, at.sinceMs);
}

/** A part of all findings in an order. */
export interface FindingPage {
  readonly findings: readonly PlacedFinding[];
  readonly total: number;
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/**
 * A page of findings. @param after the key of the finding before the page. @param isIn which findings count by what
 * depends on the image.
 */
export async function pageOfFindings(
  session: ReadSession,
  held: readonly Held[],
  {
    order: given,
    after,
    skip,
    limit,
    isIn,
  }: {
    readonly order: readonly OrderTerm[];
    readonly after: readonly ScalarValue[] | undefined;
    readonly skip: number;
    readonly limit: number;
    readonly isIn: ((finding: PlacedFinding) => boolean) | undefined;
  },
): Promise<FindingPage> {
  const order = completed(given);
  const compare = (a: readonly ScalarValue[], b: readonly ScalarValue[]) => compareKeys(a, b, order);
  let total = 0;
  // Only as many as the page can show are kept; what is behind them is dropped whenever twice as many have come.
  const wanted = skip + limit + 1;
  const kept: { readonly key: readonly ScalarValue[]; readonly placed: PlacedFinding }[] = [];
  const sort = () => {
    kept.sort((a, b) => compare(a.key, b.key));
    kept.length = Math.min(kept.length, wanted);
  };
  let last: readonly ScalarValue[] | undefined;
  const endsByImage = isEndedByImage(order);
  for (const each of held) {
    for (const finding of each.findings) {
      if (isIn === undefined) total += each.images.length;
      const pair = pairKey(each, finding, order);
      for (const at of each.images) {
        const placed = { held: each, finding, at };
        if (isIn !== undefined) {
          if (!isIn(placed)) continue;
          total++;
        }
        const key = placedKey(pair, placed, order);
        if (after !== undefined && compare(key, after) <= 0) continue;
        if (last !== undefined && compare(key, last) >= 0) {
          if (isIn === undefined && endsByImage) break; // the next images of the pair are behind it, too
          continue;
        }
        kept.push({ key, placed });
        if (kept.length >= 2 * wanted) {
          sort();
          last = kept.at(-1)!.key;
        }
      }
    }
    await session.pause();
  }
  sort();
  return {
    findings: kept.slice(skip, skip + limit).map(({ placed }) => placed),
    total,
    hasMore: kept.length > skip + limit,
  };
}

/** The key of a finding in an order. */
export function keyOf(placed: PlacedFinding, given: readonly OrderTerm[]): readonly ScalarValue[] {
  const order = completed(given);
  return placedKey(pairKey(placed.held, placed.finding, order), placed, order);
}

/** Whether nothing but the last two columns, which are the order of a component's images, depends on the image. */
function isEndedByImage(order: readonly OrderTerm[]): boolean {
  const [repo, image] = order.slice(-2);
  const isLast = repo!.column === "repo" && !repo!.descending && image!.column === "image";
  return isLast && !order.slice(0, -2).some(({ column }) => ofImage.has(column));
}

function completed(given: readonly OrderTerm[]): readonly OrderTerm[] {
  return [...given, ...ties.filter(({ column }) => given.every((term) => term.column !== column))];
}

function pairKey(held: Held, finding: Resolved, order: readonly OrderTerm[]): ScalarValue[] {
  return order.map(({ column }) => valueOfPair(held, finding, column));
}

function valueOfPair({ component }: Held, { vulnerability }: Resolved, column: string): ScalarValue {
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
    default:
      return 0; // of the image
  }
}

function placedKey(
  pair: readonly ScalarValue[],
  placed: PlacedFinding,
  order: readonly OrderTerm[],
): readonly ScalarValue[] {
  return order.map(({ column }, i) => {
    switch (column) {
      case "first_seen":
        return firstSeenMs(placed);
      case "repo":
        return placed.at.image.repo;
      case "image":
        return placed.at.image.uid;
      default:
        return pair[i]!;
    }
  });
}

function compareKeys(a: readonly ScalarValue[], b: readonly ScalarValue[], order: readonly OrderTerm[]): number {
  for (const [i, { descending }] of order.entries()) {
    const [x, y] = [a[i]!, b[i]!];
    if (x === y) continue;
    return x < y === descending ? 1 : -1;
  }
  return 0;
}
