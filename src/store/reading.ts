/** Runs the statements on many rows of a table for a resolved selection. */
import { andThen, type Eventually } from "../eventually.ts";
import type { CounterClass } from "./counters.ts";
import type { Shape } from "./list-statements.ts";
import { afterSlots, type Order } from "./order.ts";
import { bytesOf, unpackAll } from "./packed.ts";
import type { Row } from "./row.ts";
import type { Resolved } from "./selection.ts";
import type { Connection, Values } from "./statement.ts";
import type { Range } from "./subtree.ts";
import type { Table } from "./table.ts";

/** What is read with: a table, where its statements run, and the sums of its counters. */
export interface Reading {
  readonly table: Table;
  readonly connection: Connection;
  /** The sum of the counters of ancestors, each named once. */
  total(counterClass: CounterClass, ancestors: readonly string[]): Eventually<number>;
}

/** A part of an order. */
export interface Page {
  readonly order: Order;
  readonly skip: number;
  readonly limit: number;
  /** The facets to read of whole rows. */
  readonly facets: readonly string[];
}

/** Where a statement finds rows, and how. */
export type Way = Pick<Shape, "source" | "plan">;

/** The rows of a page. */
export function readRows({ table, connection }: Reading, selected: Resolved, page: Page, way: Way): Eventually<Row[]> {
  const values = valuesOf(selected, page);
  const isJoined = table.joinsRows && page.facets.length === 0 && page.limit >= manyRows;
  const statement = table.list(shapeOf(selected, page, { read: isJoined ? "joined" : "rows", ...way }));
  return andThen(connection.rows(statement, values), (rows) =>
    isJoined ? joinedRows(rows[0]![0]) : rowsOf(table, rows, page),
  );
}

/** From so many rows on, a page is read as one value. */
const manyRows = 8;

/** What is joined of no rows at all is NULL. */
function joinedRows(joined: unknown): Row[] {
  return joined === null ? [] : unpackAll(bytesOf(joined));
}

/** Of the rows of a page only their columns of the order. */
export async function readKeys(
  { table, connection }: Reading,
  selected: Resolved,
  page: Page,
  way: Way,
): Promise<Key[]> {
  const statement = table.list(shapeOf(selected, page, { read: "keys", ...way }));
  return (await connection.rows(statement, valuesOf(selected, page))) as Key[];
}

/** A row's values of the columns of an order; the last is its uid. */
export type Key = readonly (string | number)[];

/**
 * The first rows by uid of ranges in the order of reading. Every range gives at most `limit` rows, and reading stops at twice as many, so the range
 * with the last row of the page has been read as far as needed.
 */
export async function readEachRange({ table, connection }: Reading, selected: Resolved, page: Page): Promise<Row[]> {
  const statement = table.list(shapeOf(selected, page, { read: "rows", source: "eachRange", plan: "free" }));
  const rows = await connection.rows(statement, { ...valuesOf(selected, page), total: 2 * page.limit });
  return rowsOf(table, rows, page);
}

function rowsOf(table: Table, rows: readonly unknown[][], { facets }: Page): Row[] {
  return rows.map((columns) => table.read(columns, facets));
}

/** How many rows there are, counted up to `limit` where it is given. */
export async function countRows(reading: Reading, selected: Resolved, limit?: number): Promise<number> {
  const { table, connection } = reading;
  if (isFoundExactly(table, selected)) return countFound(reading, selected, limit ?? Number.MAX_SAFE_INTEGER);
  const read = limit === undefined ? "count" : "limitedCount";
  const page = countedUpTo(limit ?? 0);
  const statement = table.list(shapeOf(selected, page, { read, source: sourceOf(selected), plan: "free" }));
  const [row] = await connection.rows(statement, valuesOf(selected, page));
  return row![0] as number;
}

/** Whether the finder of a selection gives its rows and no others. */
function isFoundExactly(table: Table, { finder, parent, ranges, comparisons }: Resolved): boolean {
  if (finder === undefined || comparisons.some(({ column }) => column !== finder)) return false;
  if (table.knowsScope(finder)) return true;
  const isEverywhere = parent === undefined && ranges === undefined;
  return isEverywhere && comparisons.every(({ operator }) => operator === "containsExact");
}

/** How many rows the finder of a selection gives, counted up to `limit`: at least those that it has. */
export async function countFound({ table, connection }: Reading, selected: Resolved, limit: number): Promise<number> {
  const way = { read: "foundCount", source: sourceOf(selected), plan: "free" } as const;
  const page = countedUpTo(limit);
  const statement = table.list(shapeOf(selected, page, way));
  const [row] = await connection.rows(statement, valuesOf(selected, page));
  return row![0] as number;
}

function countedUpTo(limit: number): Page {
  return { order: { terms: [], after: undefined }, skip: 0, limit, facets: [] };
}

/** Where the rows of a selection are found by what it says. */
export function sourceOf({ finder, uids, ranges }: Resolved): Shape["source"] {
  if (finder !== undefined) return ranges === undefined ? "found" : "foundInRanges";
  if (uids !== undefined) return "uids";
  if (ranges === undefined) return "table";
  return ranges.length === 1 ? "range" : "ranges";
}

function shapeOf(selected: Resolved, { order, facets }: Page, rest: Pick<Shape, "read" | "source" | "plan">): Shape {
  return {
    ...rest,
    parent: selected.parent !== undefined,
    comparisons: selected.comparisons,
    finder: selected.finder,
    order: order.terms,
    after: order.after !== undefined,
    facets,
  };
}

function valuesOf({ finder, uids, parent, ranges, values }: Resolved, { order, skip, limit }: Page): Values {
  return {
    ...values,
    parent,
    ...(uids && { uids: JSON.stringify(uids) }),
    ...(ranges && rangeSlots(ranges, finder !== undefined)),
    ...afterSlots(order.after),
    skip,
    limit,
  };
}

function rangeSlots(ranges: readonly Range[], asList: boolean): Values {
  return ranges.length === 1 && !asList
    ? { ...ranges[0] }
    : { ranges: JSON.stringify(ranges.map(({ lo, hi }) => [lo, hi])) };
}
