/**
 * A page of a list costs what its own rows cost, wherever it is and however many rows the table, the scope or the caller has:
 *
 * - By uid: subtrees are ranges of the key, the cursor cuts them, and they are read in order until the page is full.
 * - By another column: a scope of n rows among N is found by its range and sorted while n² < 20·N; a larger one is met often
 *   enough when an index of the column is walked. n and N come from the counters; with conditions, n from a count that stops at that bound.
 * - An index cannot be walked with many ranges as a condition: there only its keys are read, and told from the others here.
 */
import type { Eventually } from "../eventually.ts";
import { withFinder } from "./finder.ts";
import { cursorOf, type Order, orderOf } from "./order.ts";
import {
  countRows,
  type Key,
  type Page,
  type Reading,
  readEachRange,
  readKeys,
  readRows,
  sourceOf,
} from "./reading.ts";
import type { Row, TableSpec } from "./row.ts";
import { type ListQuery, type Operator, type Resolved, resolve } from "./selection.ts";
import { compareKeys, everything, holds, type Range, rangeOf, remaining, type Subtree } from "./subtree.ts";

/** Above this a scope is large enough to be met on a walk: n² ≥ 20·N. */
const walkFactor = 20;
/** The same where each row that is walked past is looked into. */
const lookFactor = 100;
/** Ranges in the second query over many; every further one takes four times as many. */
const manyRanges = 8;
const maxWalkKeys = 5000;

/** The page of a query, in its order. */
export function list(reading: Reading, query: ListQuery): Eventually<Row[]> {
  const resolved = resolve(reading.table, query);
  const order = orderOf(reading.table.spec, query.orderBy, query.after);
  if (resolved === undefined || query.limit <= 0) return [];
  const page = { order, skip: query.skip, limit: query.limit, facets: facetsOf(reading.table.spec, query, order) };
  const isByUid = order.terms[0]!.column === "uid" && sourceOf(resolved) !== "uids" && resolved.finders.length === 0;
  return isByUid ? listByUid(reading, resolved, page) : weigh(reading, resolved, page);
}

/** The facets that rows are read with. */
function facetsOf({ facets }: TableSpec, query: ListQuery, { terms }: Order): readonly string[] {
  const all = Object.keys(facets);
  const { facets: told } = query;
  return told === undefined
    ? all
    : all.filter((facet) => told.includes(facet) || terms.some(({ column }) => column === facet));
}

/** The page of a selection that can be found in more than one way. */
async function weigh(reading: Reading, resolved: Resolved, page: Page): Promise<Row[]> {
  const { order } = page;
  const { finder, ...selected } = await withFinder(reading, resolved);
  const source = sourceOf(selected);
  if (source === "uids") return readRows(reading, selected, page, { source, plan: "sort" });
  let oneIn: number | undefined;
  if (finder !== undefined) {
    const found = { ...selected, finder };
    oneIn = await rarity(reading, found);
    if (oneIn === undefined) return readRows(reading, found, page, { source: sourceOf(found), plan: "sort" });
  }
  const first = order.terms[0]!.column;
  if (first === "uid") return listByUid(reading, selected, page);
  const { parent } = selected;
  if (parent !== undefined && reading.table.childOrders.has(first))
    return readRows(reading, selected, page, { source, plan: "free" });
  oneIn ??= await rarity(reading, selected);
  if (oneIn === undefined) return readRows(reading, selected, page, { source, plan: "sort" });
  if (source === "ranges") return walkRanges(reading, selected, page, oneIn);
  if (parent === undefined) return readRows(reading, selected, page, { source, plan: "walk" });
  // The indexes of the order hold uids, not parents: the range tells most other rows without reading them.
  const below = [rangeOf({ root: parent, self: false })];
  return readRows(reading, { ...selected, ranges: below }, page, { source: "range", plan: "walk" });
}

/** Ranges of the key, in their order. */
function listByUid(reading: Reading, selected: Resolved, { order, ...rest }: Page): Eventually<Row[]> {
  const { descending } = order.terms[0]!;
  const ranges = remaining(selected.ranges ?? [everything], order.after?.[0] as string | undefined, descending);
  const page = { ...rest, order: { terms: order.terms, after: undefined } }; // the ranges are cut: that is the cursor
  if (ranges.length === 0) return [];
  if (ranges.length > 1) return listRanges(reading, { ...selected, ranges }, ranges, page);
  return readRows(reading, { ...selected, ranges }, page, { source: "range", plan: "free" });
}

/** Several ranges of the key, read one after another. */
async function listRanges(
  reading: Reading,
  selected: Resolved,
  ranges: readonly Range[],
  { order, skip, limit, facets }: Page,
): Promise<Row[]> {
  const { descending } = order.terms[0]!;
  const start = await passOver(reading, selected, ranges, skip);
  const rows: Row[] = [];
  let toSkip = start.skip;
  for (
    let i = start.index, size = 1;
    i < ranges.length && rows.length < limit;
    i += size, size = Math.max(manyRanges, 4 * size)
  ) {
    const portion = { ...selected, ranges: ranges.slice(i, i + size) };
    const page = { order, skip: toSkip, limit: limit - rows.length, facets };
    if (portion.ranges.length === 1) {
      const found = await readRows(reading, portion, page, { source: "range", plan: "free" });
      for (const row of found) rows.push(row);
    } else {
      const found = await readEachRange(reading, portion, page);
      found.sort((a, b) => (descending ? compareKeys(b.uid, a.uid) : compareKeys(a.uid, b.uid)));
      for (const row of found.slice(0, page.limit)) rows.push(row);
    }
    toSkip = 0;
  }
  return rows;
}

/** In which of the ranges the row after `skip` others is, and how many of the others are in that range too. */
async function passOver(reading: Reading, selected: Resolved, ranges: readonly Range[], skip: number) {
  let index = 0;
  for (let size = 1; skip > 0 && index < ranges.length; ) {
    const some = ranges.slice(index, index + size);
    const passed = await countRows(reading, { ...selected, ranges: some }, skip + 1);
    if (passed <= skip) {
      skip -= passed;
      index += some.length;
      size *= 4;
    } else if (some.length > 1) size = Math.ceil(some.length / 4);
    else break;
  }
  return { index, skip };
}

/** Comparisons that may leave few of the rows. */
const selective: ReadonlySet<Operator> = new Set(["equals", "in", "has", "hasAny", "contains", "containsExact"]);

/** One in how many rows of the table is selected, when that is often enough to walk an index of the order; else undefined. */
async function rarity(reading: Reading, selected: Resolved): Promise<number | undefined> {
  const { parent, roots, comparisons, finder } = selected;
  const isSelective = finder !== undefined || comparisons.some(({ operator }) => selective.has(operator));
  if (roots === undefined && parent === undefined && !isSelective) return 1;
  const all = await reading.total("below", [""]);
  const bound = Math.max(1, Math.ceil(Math.sqrt((finder === undefined ? walkFactor : lookFactor) * all)));
  let found: number;
  if (isSelective) found = await countRows(reading, selected, bound);
  else if (parent !== undefined) found = await reading.total("children", [parent]);
  else found = await estimateBelow(reading, roots!, bound);
  return found === 0 || found < bound ? undefined : all / found;
}

/** How many rows are below `roots`: exact up to `enough`; then what the roots read so far let expect of all. */
async function estimateBelow(reading: Reading, roots: readonly Subtree[], enough: number): Promise<number> {
  let sum = 0;
  let read = 0;
  for (let size = 256; read < roots.length && sum < enough; size *= 4) {
    const some = roots.slice(read, read + size).map(({ root }) => root);
    sum += await reading.total("below", some);
    read += some.length;
  }
  return sum * (roots.length / read);
}

/** Walks the keys of an index of the order, and reads the rows of those that the ranges hold. */
async function walkRanges(
  reading: Reading,
  selected: Resolved,
  { order, skip, limit, facets }: Page,
  oneIn: number,
): Promise<Row[]> {
  const ranges = selected.ranges!;
  const { comparisons, finders, values } = selected;
  const walked = Math.ceil(Math.max(limit, Math.min((skip + limit) * oneIn, maxWalkKeys)));
  const rows: Row[] = [];
  for (let after = order.after; ; ) {
    const page = { order: { terms: order.terms, after }, skip: 0, limit: walked, facets: [] };
    const keys = await readKeys(reading, { comparisons, finders, values }, page, { source: "table", plan: "walk" });
    const held = keys.filter((key) => holds(ranges, key.at(-1) as string));
    let next = Math.min(skip, held.length);
    skip -= next;
    for (; next < held.length && rows.length < limit; ) {
      const some = held.slice(next, next + limit - rows.length);
      for (const row of await readAt(reading, selected, order, facets, some)) rows.push(row);
      next += some.length;
    }
    if (rows.length === limit || keys.length < walked) return rows;
    after = keys.at(-1);
  }
}

/** The rows that keys were just read from, less those that have been written since and stand elsewhere. */
async function readAt(
  reading: Reading,
  { comparisons, finders, values }: Resolved,
  { terms }: Order,
  facets: readonly string[],
  keys: readonly Key[],
): Promise<Row[]> {
  const byUid = new Map(keys.map((key) => [key.at(-1) as string, key]));
  const page = { order: { terms, after: undefined }, skip: 0, limit: keys.length, facets };
  const rows = await readRows(reading, { uids: [...byUid.keys()], comparisons, finders, values }, page, {
    source: "uids",
    plan: "sort",
  });
  return rows.filter((row) => cursorOf(row, terms).every((value, i) => value === byUid.get(row.uid)![i]));
}
