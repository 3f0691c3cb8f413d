/**
 * Lists and counts. A page costs what its own rows cost, wherever it is and however many rows the table, the scope or the caller has:
 *
 * - By uid: subtrees are ranges of the key, the cursor cuts them, and they are read in order until the page is full.
 * - By another column: a scope of n rows among N is found by its range and sorted while n² < 20·N; a larger one is met often
 *   enough when an index of the column is walked. n and N come from the counters, with conditions from a count that stops at that bound.
 * - Many ranges cannot be tested while walking, so their rows are told from the others here.
 * - Totals come from the counters, except with conditions, which are counted in an index.
 */
import type { CounterClass } from "./counters.ts";
import type { Shape } from "./list-statements.ts";
import { afterSlots, cursorOf, type Order, orderOf } from "./order.ts";
import type { Row } from "./row.ts";
import { type ListQuery, type Resolved, resolve, type Selection } from "./selection.ts";
import type { Connection, Values } from "./statement.ts";
import { compareKeys, everything, holds, type Range, remaining } from "./subtree.ts";
import type { Table } from "./table.ts";

/** What a session reads with: a table, where it runs, and the sum of some counters of the table. */
export interface Reading {
  readonly table: Table;
  readonly connection: Connection;
  total(counterClass: CounterClass, ancestors: readonly string[]): Promise<number>;
}

/** Above this share a scope is large enough to be met on a walk: n² ≥ 20·N. */
const walkFactor = 20;
/** Ranges in the first query over many; every further one takes four times as many. */
const firstRanges = 8;
const maxWalkRows = 1000;

/** The page of a query, in its order. */
export async function list(reading: Reading, query: ListQuery): Promise<Row[]> {
  const selected = resolve(reading.table.spec, query);
  const order = orderOf(reading.table.spec, query.orderBy, query.after);
  if (selected === undefined || query.limit <= 0) return [];
  const page = { order, skip: query.skip, limit: query.limit };
  if (selected.uids !== undefined) return readRows(reading, selected, { ...page, source: "uids", plan: "sort" });
  if (order.terms[0]!.column === "uid") return listByUid(reading, selected, page);
  // Every table that has names has an index of the names below each parent.
  if (selected.parent !== undefined && order.terms[0]!.column === "name") {
    return readRows(reading, selected, { ...page, source: "table", plan: "free" });
  }
  const { ranges } = selected;
  const walkable = await share(reading, selected);
  const source = ranges === undefined ? "table" : ranges.length === 1 ? "range" : "ranges";
  if (walkable === undefined) return readRows(reading, selected, { ...page, source, plan: "sort" });
  if (source !== "ranges") return readRows(reading, selected, { ...page, source, plan: "walk" });
  return walkRanges(reading, selected, page, walkable);
}

/** How many rows a selection has. */
export async function count(reading: Reading, selection: Selection): Promise<number> {
  const selected = resolve(reading.table.spec, selection);
  if (selected === undefined) return 0;
  const { uids, parent, ranges, roots, comparisons } = selected;
  if (uids !== undefined) return countRows(reading, selected, "uids");
  if (comparisons.length > 0) return countRows(reading, selected, ranges === undefined ? "table" : "ranges");
  if (parent !== undefined) return reading.total("children", [parent]);
  if (roots === undefined) return reading.total("below", [""]);
  const selves = roots.filter(({ self }) => self).map(({ root }) => root);
  const own = selves.length === 0 ? 0 : await countRows(reading, { comparisons: [], values: {}, uids: selves }, "uids");
  return (
    own +
    (await reading.total(
      "below",
      roots.map(({ root }) => root),
    ))
  );
}

interface Page {
  readonly order: Order;
  readonly skip: number;
  readonly limit: number;
}

/** Ranges of the key, cut by the cursor, read one after another. */
async function listByUid(reading: Reading, selected: Resolved, { order, skip, limit }: Page): Promise<Row[]> {
  const term = order.terms[0]!;
  const ranges = remaining(selected.ranges ?? [everything], order.after?.[0] as string | undefined, term.descending);
  const byUid: Order = { terms: order.terms, after: undefined };
  const rows: Row[] = [];
  let toSkip = skip;
  for (let i = 0, size = 1; i < ranges.length && rows.length < limit; ) {
    const some = ranges.slice(i, i + size);
    if (toSkip > 0 && ranges.length > 1) {
      const passed = await countRows(reading, { ...selected, ranges: some }, "ranges", toSkip + 1);
      if (passed > toSkip && size > 1) {
        size = Math.ceil(size / 4);
        continue; // the page begins in one of these: find out in which
      }
      if (passed <= toSkip) {
        toSkip -= passed;
        i += some.length;
        size *= 4;
        continue;
      }
    }
    const page = { order: byUid, skip: toSkip, limit: limit - rows.length };
    if (some.length === 1)
      rows.push(
        ...(await readRows(reading, { ...selected, ranges: some }, { ...page, source: "range", plan: "free" })),
      );
    else rows.push(...(await readEachRange(reading, selected, some, page)));
    toSkip = 0;
    i += some.length;
    size = Math.max(firstRanges, size * 4);
  }
  return rows;
}

/**
 * The first rows by uid of several ranges. Every range gives at most `limit` rows, and reading stops at twice as many, so the range with the last row
 * of the page has been read as far as needed, in whichever order its rows came.
 */
async function readEachRange(
  reading: Reading,
  selected: Resolved,
  ranges: readonly Range[],
  { order, limit }: Page,
): Promise<Row[]> {
  const { table, connection } = reading;
  const statement = table.list(shapeOf(selected, { read: "rows", source: "eachRange", order, plan: "free" }));
  const values = { ...valuesOf(selected), ranges: rangesJson(ranges), limit, total: 2 * limit };
  const rows = (await connection.rows(statement, values)).map(table.read);
  const sign = order.terms[0]!.descending ? -1 : 1;
  return rows.sort((a, b) => sign * compareKeys(a.uid, b.uid)).slice(0, limit);
}

/** 1 in how many rows of the table is selected, when that is often enough to walk an index of the order; else undefined. */
async function share(reading: Reading, selected: Resolved): Promise<number | undefined> {
  const isSelective = selected.comparisons.some(({ operator }) => operator === "equals" || operator === "in");
  if (selected.ranges === undefined && selected.parent === undefined && !isSelective) return 1;
  const all = await reading.total("below", [""]);
  const bound = Math.ceil(Math.sqrt(walkFactor * all));
  let found: number;
  if (isSelective)
    found = await countRows(reading, selected, selected.ranges === undefined ? "table" : "ranges", bound);
  else if (selected.parent !== undefined) found = await reading.total("children", [selected.parent]);
  else
    found = await totalBelow(
      reading,
      selected.roots!.map(({ root }) => root),
      bound,
    );
  return found === 0 || found < bound ? undefined : all / found;
}

/** The sum of the counters of `roots`, read in growing portions until it reaches `enough`. */
async function totalBelow(reading: Reading, roots: readonly string[], enough: number): Promise<number> {
  let sum = 0;
  for (let i = 0, size = 256; i < roots.length && sum < enough; i += size, size *= 4) {
    sum += await reading.total("below", roots.slice(i, i + size));
  }
  return sum;
}

/** Walks an index of the order and keeps the rows that the ranges hold. */
async function walkRanges(reading: Reading, selected: Resolved, page: Page, oneIn: number): Promise<Row[]> {
  const ranges = selected.ranges!;
  const { comparisons, values } = selected;
  const limit = Math.ceil(
    Math.min(Math.max(page.limit, (page.skip + page.limit) * oneIn), Math.max(page.limit, maxWalkRows)),
  );
  const rows: Row[] = [];
  let { skip, order } = page;
  for (;;) {
    const walked = await readRows(
      reading,
      { comparisons, values },
      { order, skip: 0, limit, source: "table", plan: "walk" },
    );
    for (const row of walked) {
      if (!holds(ranges, row.uid) || skip-- > 0) continue;
      rows.push(row);
      if (rows.length === page.limit) return rows;
    }
    if (walked.length < limit) return rows;
    order = { terms: order.terms, after: cursorOf(walked.at(-1)!, order) };
  }
}

type Reach = Page & Pick<Shape, "source" | "plan">;

async function readRows(
  { table, connection }: Reading,
  selected: Resolved,
  { order, skip, limit, source, plan }: Reach,
): Promise<Row[]> {
  const statement = table.list(shapeOf(selected, { read: "rows", source, order, plan }));
  const rows = await connection.rows(statement, { ...valuesOf(selected), ...afterSlots(order.after), skip, limit });
  return rows.map(table.read);
}

async function countRows(
  { table, connection }: Reading,
  selected: Resolved,
  source: Shape["source"],
  limit?: number,
): Promise<number> {
  const read = limit === undefined ? "count" : "limitedCount";
  const isRange = source === "ranges" && selected.ranges?.length === 1;
  const order: Order = { terms: [], after: undefined };
  const statement = table.list(shapeOf(selected, { read, source: isRange ? "range" : source, order, plan: "free" }));
  const [row] = await connection.rows(statement, { ...valuesOf(selected), limit });
  return row![0] as number;
}

function shapeOf(
  selected: Resolved,
  { order, ...rest }: { order: Order } & Pick<Shape, "read" | "source" | "plan">,
): Shape {
  return {
    ...rest,
    parent: selected.parent !== undefined,
    comparisons: selected.comparisons,
    order: order.terms,
    after: order.after !== undefined,
  };
}

function valuesOf({ uids, parent, ranges, values }: Resolved): Values {
  const range = ranges?.length === 1 ? ranges[0] : undefined;
  return {
    ...values,
    parent,
    ...range,
    ...(uids && { uids: JSON.stringify(uids) }),
    ...(ranges && range === undefined && { ranges: rangesJson(ranges) }),
  };
}

function rangesJson(ranges: readonly Range[]): string {
  return JSON.stringify(ranges.map(({ lo, hi }) => [lo, hi]));
}
