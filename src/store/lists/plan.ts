/**
 * Plans the queries for a page of a list. The cost of a page depends on its own rows, not on its position or on the
 * size of the table or the scope. Of the access paths the first that fits is taken:
 *
 * | access path | fits | reads |
 * |---|---|---|
 * | named uids | the scope has become uids | each of them |
 * | driving index | it finds few rows | all that it finds |
 * | ranges of keys | the order is by uid | from the cursor on, range by range, until the page is full |
 * | index of children | the children of a parent, by a column that follows it in an index | the page |
 * | scope | few rows: n² < 20·N | all of the scope, or their search texts in an index |
 * | walk of keys | many ranges, which no index serves | the keys of the order's index, compared with the ranges here |
 * | walk | all others: a scope of so many rows that they are met soon | the index of the order |
 *
 * n is the number of rows of the scope and N that of the table, from the counters; with conditions, n comes from a
 * count that stops at that bound. A walk of a column's index begins and ends at a prefix of that column, which is
 * therefore no such condition.
 */

import type { Awaitable } from "../../awaitable.ts";
import type { Row } from "../rows/record.ts";
import type { TableSpec } from "../rows/row.ts";
import type { Operator } from "../sql/operators.ts";
import { compareKeys, everything, holds, type Range, remaining, type Subtree } from "../sql/subtree.ts";
import { canScan, walkFactor, withDrivingIndex } from "./driving-index.ts";
import { cursorOf, type Order, orderOf } from "./order.ts";
import type { Comparison, ListQuery, OrderTerm } from "./query.ts";
import { countRows, type Key, type Plan, planOf, readEachRange, readKeys, readRows, sourceOf } from "./read.ts";
import type { Page, Reading } from "./reading.ts";
import { type Resolved, resolve, withRanges } from "./selection.ts";

/** As {@link walkFactor} where the content of each row on the walk is checked, for each `contentPage` of the rows. */
const contentWalkFactor = 100;
const contentPage = 50;
/** The ranges in the second query over many. Each further query takes four times as many. */
const manyRanges = 8;
/** The most keys that one query of a walk reads, unless the page is larger. */
const maxWalkKeys = 5000;

const byUid: readonly OrderTerm[] = [];

/** The rows of a page, in order. */
export function list(reading: Reading, query: ListQuery): Awaitable<Row[]> {
  const { orderBy = byUid, after, skip = 0, limit } = query;
  const resolved = resolve(reading.table, query);
  const order = orderOf(reading.table.spec, orderBy, after);
  if (resolved === undefined || limit <= 0) return [];
  const page = { order, skip, limit, columns: columnsToRead(reading.table.spec, query, order) };
  const isByUid =
    order.terms[0]!.column === "uid" && sourceOf(resolved) !== "uids" && resolved.usableIndexes.length === 0;
  return isByUid ? listByUid(reading, resolved, page) : choosePlan(reading, resolved, page);
}

/** The indexed columns to read. */
function columnsToRead({ columns }: TableSpec, query: ListQuery, { terms }: Order): readonly string[] {
  const all = Object.keys(columns);
  const { columns: asked } = query;
  return asked === undefined
    ? all
    : all.filter((name) => asked.includes(name) || terms.some(({ column }) => column === name));
}

/** Reads the page of a selection that has more than one access path. */
async function choosePlan(reading: Reading, resolved: Resolved, page: Page): Promise<Row[]> {
  const read = (rows: Resolved, plan: Plan) => readRows(reading, rows, page, plan);
  const { drivingIndex, ...selected } = await withDrivingIndex(reading, resolved);
  const { uids, parent, isScanned } = selected;
  if (uids !== undefined) return read(selected, "sort");
  const found = drivingIndex === undefined ? undefined : { ...selected, drivingIndex };
  const foundFraction = found && (await selectivity(reading, found, page));
  if (found !== undefined && foundFraction === undefined) return read(found, "sort");
  const first = page.order.terms[0]!.column;
  if (first === "uid") {
    const readsTexts = isScanned || (found !== undefined && canScan(reading.table, selected));
    return listByUid(reading, { ...selected, isScanned: readsTexts }, page);
  }
  if (parent !== undefined && reading.table.childOrders.has(first)) return read(selected, "free");
  const fraction = foundFraction ?? (await selectivity(reading, selected, page));
  if (fraction === undefined) return isScanned ? read(withRanges(selected), "scan") : read(selected, "sort");
  if (sourceOf(selected) === "ranges") return walkRanges(reading, selected, page, fraction);
  // The index of the order has uids, not parents: the range excludes most other rows without reading them.
  return read(withRanges(selected), "walk");
}

/** Reads a page by uid, range by range. */
function listByUid(reading: Reading, resolved: Resolved, { order, ...rest }: Page): Awaitable<Row[]> {
  const { descending } = order.terms[0]!;
  const selected = resolved.isScanned ? withRanges(resolved) : resolved;
  const ranges = remaining(selected.ranges ?? [everything], order.after?.[0] as string | undefined, descending);
  const page = { ...rest, order: { terms: order.terms, after: undefined } }; // the cursor has cut the ranges
  if (ranges.length === 0) return [];
  if (ranges.length > 1) return listRanges(reading, { ...selected, ranges }, ranges, page);
  return readRows(reading, { ...selected, ranges }, page, planOf(selected));
}

/** Reads several ranges of keys, one query after another. */
async function listRanges(
  reading: Reading,
  selected: Resolved,
  ranges: readonly Range[],
  { order, skip, limit, columns }: Page,
): Promise<Row[]> {
  const { descending } = order.terms[0]!;
  const start = await skipRanges(reading, selected, ranges, skip);
  const rows: Row[] = [];
  let toSkip = start.skip;
  for (
    let i = start.index, size = 1;
    i < ranges.length && rows.length < limit;
    i += size, size = Math.max(manyRanges, 4 * size)
  ) {
    const portion = { ...selected, ranges: ranges.slice(i, i + size) };
    const page = { order, skip: toSkip, limit: limit - rows.length, columns };
    if (portion.ranges.length === 1) {
      const found = await readRows(reading, portion, page, planOf(selected));
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

/** The index of the range that has the row after `skip` others, and how many of the others are in that range. */
async function skipRanges(reading: Reading, selected: Resolved, ranges: readonly Range[], skip: number) {
  let index = 0;
  for (let size = 1; skip > 0 && index < ranges.length; ) {
    const some = ranges.slice(index, index + size);
    const skipped = await countRows(reading, { ...selected, ranges: some }, skip + 1);
    if (skipped <= skip) {
      skip -= skipped;
      index += some.length;
      size *= 4;
    } else if (some.length > 1) size = Math.ceil(some.length / 4);
    else break;
  }
  return { index, skip };
}

/** Operators that may select few rows. */
const selectiveOperators: ReadonlySet<Operator> = new Set([
  "equals",
  "in",
  "startsWith",
  "has",
  "hasAny",
  "contains",
  "containsExact",
]);

/** The fraction of the table that is selected, if that is enough to walk an index of the order; else undefined. */
async function selectivity(
  reading: Reading,
  selected: Resolved,
  { order: { terms }, skip, limit }: Page,
): Promise<number | undefined> {
  const { parent, roots, comparisons, drivingIndex } = selected;
  const isPartOfWalk = ({ operator, column }: Comparison) => operator === "startsWith" && column === terms[0]!.column;
  const isSelective =
    drivingIndex !== undefined ||
    comparisons.some((comparison) => selectiveOperators.has(comparison.operator) && !isPartOfWalk(comparison));
  if (roots === undefined && parent === undefined && !isSelective) return 1;
  const all = await reading.total("below", [""]);
  const ofContent = contentWalkFactor * Math.max(1, (skip + limit) / contentPage);
  const bound = Math.max(1, Math.ceil(Math.sqrt((drivingIndex === undefined ? walkFactor : ofContent) * all)));
  let found: number;
  if (isSelective) found = await countRows(reading, selected, bound);
  else if (parent !== undefined) found = await reading.total("children", [parent]);
  else found = await estimateBelow(reading, roots!, bound);
  return found === 0 || found < bound ? undefined : found / all;
}

/** The number of rows below `roots`: exact up to `enough`, then extrapolated from the roots that were counted. */
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

/** Walks the keys of an index of the order, and reads the rows of the keys that are in the ranges. */
async function walkRanges(
  reading: Reading,
  selected: Resolved,
  { order, skip, limit, columns }: Page,
  fraction: number,
): Promise<Row[]> {
  const ranges = selected.ranges!;
  const { comparisons, usableIndexes, values } = selected;
  const walked = Math.ceil(Math.max(limit, Math.min((skip + limit) / fraction, maxWalkKeys)));
  const rows: Row[] = [];
  for (let after = order.after; ; ) {
    const page = { order: { terms: order.terms, after }, skip: 0, limit: walked, columns: [] };
    const keys = await readKeys(reading, { comparisons, usableIndexes, values }, page, "walk");
    const held = keys.filter((key) => holds(ranges, key.at(-1) as string));
    let next = Math.min(skip, held.length);
    skip -= next;
    for (; next < held.length && rows.length < limit; ) {
      const some = held.slice(next, next + limit - rows.length);
      for (const row of await readAt(reading, selected, order, columns, some)) rows.push(row);
      next += some.length;
    }
    if (rows.length === limit || keys.length < walked) return rows;
    after = keys.at(-1);
  }
}

/** Reads the rows of keys, without those that have been changed since and now have another key. */
async function readAt(
  reading: Reading,
  { comparisons, usableIndexes, values }: Resolved,
  { terms }: Order,
  columns: readonly string[],
  keys: readonly Key[],
): Promise<Row[]> {
  const byUid = new Map(keys.map((key) => [key.at(-1) as string, key]));
  const page = { order: { terms, after: undefined }, skip: 0, limit: keys.length, columns };
  const rows = await readRows(reading, { uids: [...byUid.keys()], comparisons, usableIndexes, values }, page, "sort");
  return rows.filter((row) => cursorOf(row, terms).every((value, i) => value === byUid.get(row.uid)![i]));
}
