/** Lists that are merged of several streams, and their pages. */
import type { ScalarValue } from "../sql/indexed-column.ts";
import type { OrderTerm } from "./query.ts";

/** How many rows of a stream are read at once. */
const maxBatch = 1000;

/** Which part of a list to read. */
export interface PagePart {
  /** How many items to pass over. */
  readonly skip: number;
  readonly limit: number;
}

/** How many rows each stream needs to read at once for a page. */
export function batchFor({ skip, limit }: PagePart): number {
  return Math.min(skip + limit + 1, maxBatch);
}

/** The items of a page. `last`: the one that another page begins behind; undefined if there is none. */
export async function pageOf<T>(
  all: AsyncIterable<T>,
  { skip, limit }: PagePart,
): Promise<{ readonly items: readonly T[]; readonly last: T | undefined }> {
  const found: T[] = [];
  let passed = 0;
  for await (const item of all) {
    if (passed++ >= skip) found.push(item);
    if (found.length > limit) break;
  }
  return { items: found.slice(0, limit), last: found.length > limit ? found[limit - 1] : undefined };
}

/** Compares keys by the columns of an order, then by uid, if they end with it, in the direction of the last column. */
export function keyComparison(order: readonly Pick<OrderTerm, "descending">[]) {
  const signs = [...order, order.at(-1)!].map(({ descending }) => (descending ? -1 : 1));
  return (a: readonly ScalarValue[], b: readonly ScalarValue[]): number => {
    const i = signs.findIndex((_, column) => a[column] !== b[column]);
    return i < 0 ? 0 : signs[i]! * (a[i]! < b[i]! ? -1 : 1);
  };
}

/** Merges sorted streams into one. `compare`: the order of all of them, as for `Array.sort`. */
export async function* merged<T>(
  streams: readonly AsyncGenerator<T>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  const heads = await Promise.all(streams.map(async (stream) => ({ stream, next: await stream.next() })));
  for (;;) {
    const open = heads.filter(({ next }) => next.done !== true);
    const [first] = open.sort((a, b) => compare(a.next.value as T, b.next.value as T));
    if (first === undefined) return;
    yield first.next.value as T;
    first.next = await first.stream.next();
  }
}
