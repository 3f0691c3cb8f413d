/** Runs the statements that read many rows of a table. */

import { type Awaitable, chain } from "../../awaitable.ts";
import { bytesOf, unpackAll } from "../rows/packed.ts";
import type { Row } from "../rows/record.ts";
import type { Values } from "../sql/statement.ts";
import type { Range } from "../sql/subtree.ts";
import { connectionFor } from "./cost.ts";
import { afterSlots } from "./order.ts";
import type { Page, Reading } from "./reading.ts";
import { rootsOf } from "./roots.ts";
import { type Resolved, withRanges } from "./selection.ts";
import type { Shape } from "./statements.ts";
import type { Table } from "./table.ts";

/** How a statement finds its rows and orders them. */
export type Plan = Shape["plan"];

/** The rows of a page. */
export function readRows(reading: Reading, selected: Resolved, page: Page, plan: Plan): Awaitable<Row[]> {
  const { table } = reading;
  const isJoined = table.joinsRows && page.columns.length === 0 && page.limit >= manyRows;
  return chain(run(reading, selected, page, isJoined ? "joined" : "rows", plan), (rows) =>
    isJoined ? joinedRows(rows[0]![0]) : rowsOf(table, rows, page),
  );
}

/** Runs the statement of a shape. */
function run(
  reading: Reading,
  selected: Resolved,
  page: Page,
  read: Shape["read"],
  plan: Plan,
  source = sourceOf(selected),
): Awaitable<unknown[][]> {
  const shape = { read, source, plan };
  return chain(connectionFor(reading, selected, page, shape), (connection) => {
    const isStoppable = connection === reading.longQueries;
    const found = reading.table.isDistributed ? rootsOf(selected) : undefined;
    const roots = found === undefined ? "all" : found.length === 1 ? "one" : "several";
    const statement = reading.table.list(shapeOf(selected, page, { ...shape, roots, isStoppable }));
    const values = valuesOf(selected, page);
    return connection.rows(statement, found === undefined ? values : { ...values, roots: found, root: found[0] });
  });
}

/** A page of at least this many rows is read as one value. */
const manyRows = 8;

/** The concatenation of no rows is NULL. */
function joinedRows(joined: unknown): Row[] {
  return joined === null ? [] : unpackAll(bytesOf(joined));
}

/** The keys of the rows of a page. */
export async function readKeys(reading: Reading, selected: Resolved, page: Page, plan: Plan): Promise<Key[]> {
  return (await run(reading, selected, page, "keys", plan)) as Key[];
}

/** The values of a row in the columns of an order. The last one is its uid. */
export type Key = readonly (string | number)[];

/**
 * At least the first rows by uid of ranges in the order of reading. Each range yields at most `limit` rows, and reading
 * stops after twice that, so the range with the last row of the page has been read far enough.
 */
export async function readEachRange(reading: Reading, selected: Resolved, page: Page): Promise<Row[]> {
  const plan = planOf(selected);
  // Shards cannot read the rows of each range up to a limit: the first rows of all ranges are merged.
  if (reading.table.isDistributed && rootsOf(selected)?.length !== 1) return readRows(reading, selected, page, plan);
  return rowsOf(reading.table, await run(reading, selected, page, "rows", plan, "eachRange"), page);
}

function rowsOf(table: Table, rows: readonly unknown[][], { columns }: Page): Row[] {
  return rows.map((values) => table.read(values, columns));
}

/** The number of rows of a selection, counted up to `limit` if given. */
export async function countRows(reading: Reading, selected: Resolved, limit?: number): Promise<number> {
  if (isFoundExactly(reading.table, selected)) return countFound(reading, selected, limit ?? Number.MAX_SAFE_INTEGER);
  const read = limit === undefined ? "count" : "limitedCount";
  const scope = selected.isScanned ? withRanges(selected) : selected;
  const [row] = await run(reading, scope, countedUpTo(limit ?? 0), read, planOf(selected));
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
export async function countFound(reading: Reading, selected: Resolved, limit: number): Promise<number> {
  const [row] = await run(reading, selected, countedUpTo(limit), "foundCount", "free");
  return row![0] as number;
}

function countedUpTo(limit: number): Page {
  return { order: { terms: [], after: undefined }, skip: 0, limit, columns: [] };
}

/** The plan for rows in no order, or in that of uids. */
export function planOf({ isScanned }: Resolved): "scan" | "free" {
  return isScanned ? "scan" : "free";
}

/** The source of the rows of a selection. */
export function sourceOf({ drivingIndex, uids, ranges }: Resolved): Shape["source"] {
  if (drivingIndex !== undefined) return ranges === undefined ? "found" : "foundInRanges";
  if (uids !== undefined) return "uids";
  if (ranges === undefined) return "table";
  return ranges.length === 1 ? "range" : "ranges";
}

function shapeOf(
  selected: Resolved,
  { order, columns }: Page,
  rest: Pick<Shape, "read" | "source" | "roots" | "plan" | "isStoppable">,
): Shape {
  return {
    ...rest,
    parent: selected.parent !== undefined,
    comparisons: selected.comparisons,
    isByScope: selected.isByScope === true,
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
    total: 2 * limit,
  };
}

function rangeSlots(ranges: readonly Range[], asList: boolean): Values {
  return ranges.length === 1 && !asList
    ? { ...ranges[0] }
    : { ranges: JSON.stringify(ranges.map(({ lo, hi }) => [lo, hi])) };
}
