/** Runs the statements that read many rows of a table. */

import { type Awaitable, chain } from "../../awaitable.ts";
import type { CounterClass } from "../logs/counters.ts";
import { bytesOf, unpackAll } from "../rows/packed.ts";
import type { Row } from "../rows/record.ts";
import type { SqlConnection, Values } from "../sql/statement.ts";
import type { Range } from "../sql/subtree.ts";
import { afterSlots, type Order } from "./order.ts";
import type { Resolved } from "./selection.ts";
import type { Shape } from "./statements.ts";
import type { Table } from "./table.ts";

/** What reading needs: a table, the connection, and the counters of the table. */
export interface Reading {
  readonly table: Table;
  readonly connection: SqlConnection;
  /** The sum of the counters of distinct ancestors. */
  total(counterClass: CounterClass, ancestors: readonly string[]): Awaitable<number>;
}

/** A page of rows in an order. */
export interface Page {
  readonly order: Order;
  readonly skip: number;
  readonly limit: number;
  /** The indexed columns to read. */
  readonly columns: readonly string[];
}

/** How a statement finds its rows and orders them. */
export type AccessPath = Pick<Shape, "source" | "plan">;

/** The rows of a page. */
export function readRows(
  { table, connection }: Reading,
  selected: Resolved,
  page: Page,
  path: AccessPath,
): Awaitable<Row[]> {
  const values = valuesOf(selected, page);
  const isJoined = table.joinsRows && page.columns.length === 0 && page.limit >= manyRows;
  const statement = table.list(shapeOf(selected, page, { read: isJoined ? "joined" : "rows", ...path }));
  return chain(connection.rows(statement, values), (rows) =>
    isJoined ? joinedRows(rows[0]![0]) : rowsOf(table, rows, page),
  );
}

/** A page of at least this many rows is read as one value. */
const manyRows = 8;

/** The concatenation of no rows is NULL. */
function joinedRows(joined: unknown): Row[] {
  return joined === null ? [] : unpackAll(bytesOf(joined));
}

/** The keys of the rows of a page. */
export async function readKeys(
  { table, connection }: Reading,
  selected: Resolved,
  page: Page,
  path: AccessPath,
): Promise<Key[]> {
  const statement = table.list(shapeOf(selected, page, { read: "keys", ...path }));
  return (await connection.rows(statement, valuesOf(selected, page))) as Key[];
}

/** The values of a row in the columns of an order. The last one is its uid. */
export type Key = readonly (string | number)[];

/**
 * The first rows by uid of ranges in the order of reading. Each range yields at most `limit` rows, and reading stops
 * after twice that, so the range with the last row of the page has been read far enough.
 */
export async function readEachRange({ table, connection }: Reading, selected: Resolved, page: Page): Promise<Row[]> {
  const statement = table.list(shapeOf(selected, page, { read: "rows", source: "eachRange", plan: "free" }));
  const rows = await connection.rows(statement, { ...valuesOf(selected, page), total: 2 * page.limit });
  return rowsOf(table, rows, page);
}

function rowsOf(table: Table, rows: readonly unknown[][], { columns }: Page): Row[] {
  return rows.map((values) => table.read(values, columns));
}

/** The number of rows of a selection, counted up to `limit` if given. */
export async function countRows(reading: Reading, selected: Resolved, limit?: number): Promise<number> {
  const { table, connection } = reading;
  if (isFoundExactly(table, selected)) return countFound(reading, selected, limit ?? Number.MAX_SAFE_INTEGER);
  const read = limit === undefined ? "count" : "limitedCount";
  const page = countedUpTo(limit ?? 0);
  const statement = table.list(shapeOf(selected, page, { read, source: sourceOf(selected), plan: "free" }));
  const [row] = await connection.rows(statement, valuesOf(selected, page));
  return row![0] as number;
}

/** Whether the driving index finds exactly the rows of a selection. */
function isFoundExactly(table: Table, { drivingIndex, parent, ranges, comparisons }: Resolved): boolean {
  if (drivingIndex === undefined || comparisons.some(({ column }) => column !== drivingIndex)) return false;
  if (table.knowsScope(drivingIndex)) return true;
  const isEverywhere = parent === undefined && ranges === undefined;
  return isEverywhere && comparisons.every(({ operator }) => operator === "containsExact");
}

/** The number of rows that the driving index finds, counted up to `limit`. It includes false positives. */
export async function countFound({ table, connection }: Reading, selected: Resolved, limit: number): Promise<number> {
  const shape = { read: "foundCount", source: sourceOf(selected), plan: "free" } as const;
  const page = countedUpTo(limit);
  const statement = table.list(shapeOf(selected, page, shape));
  const [row] = await connection.rows(statement, valuesOf(selected, page));
  return row![0] as number;
}

function countedUpTo(limit: number): Page {
  return { order: { terms: [], after: undefined }, skip: 0, limit, columns: [] };
}

/** The source of the rows of a selection. */
export function sourceOf({ drivingIndex, uids, ranges }: Resolved): Shape["source"] {
  if (drivingIndex !== undefined) return ranges === undefined ? "found" : "foundInRanges";
  if (uids !== undefined) return "uids";
  if (ranges === undefined) return "table";
  return ranges.length === 1 ? "range" : "ranges";
}

function shapeOf(selected: Resolved, { order, columns }: Page, rest: Pick<Shape, "read" | "source" | "plan">): Shape {
  return {
    ...rest,
    parent: selected.parent !== undefined,
    comparisons: selected.comparisons,
    drivingIndex: selected.drivingIndex,
    order: order.terms,
    after: order.after !== undefined,
    columns,
  };
}

function valuesOf({ drivingIndex, uids, parent, ranges, values }: Resolved, { order, skip, limit }: Page): Values {
  return {
    ...values,
    parent,
    ...(uids && { uids: JSON.stringify(uids) }),
    ...(ranges && rangeSlots(ranges, drivingIndex !== undefined)),
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
