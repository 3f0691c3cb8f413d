/** Orders and cursors: which columns decide, and where the last page ended. */
import { type ScalarValue, stored } from "./facet.ts";
import { columnType, columnValue, type Row, type TableSpec } from "./row.ts";
import type { OrderTerm } from "./selection.ts";
import type { Values } from "./statement.ts";

/** A total order of rows, ended by the uid, and the place in it behind which to read. */
export interface Order {
  readonly terms: readonly OrderTerm[];
  readonly after: readonly (string | number)[] | undefined;
}

/**
 * The order of a query: a column named twice decides once, nothing decides after the uid, and where the uid is not named it comes last, in the
 * direction of the column before it, so that one index serves both directions.
 */
export function orderOf(
  table: TableSpec,
  orderBy: readonly OrderTerm[],
  after: readonly ScalarValue[] | undefined,
): Order {
  const named = orderBy.some(({ column }) => column === "uid");
  const all = named ? orderBy : [...orderBy, { column: "uid", descending: orderBy.at(-1)?.descending ?? false }];
  if (after !== undefined && after.length < all.length)
    throw new Error("a cursor needs a value for every column of the order");
  const terms: OrderTerm[] = [];
  const values: (string | number)[] = [];
  for (const [i, { column, descending }] of all.entries()) {
    const type = columnType(table, column);
    if (terms.some((term) => term.column === column)) continue;
    terms.push({ column, descending });
    if (after !== undefined) values.push(stored(type, after[i] ?? null));
    if (column === "uid") break;
  }
  return { terms, after: after && values };
}

/** The cursor behind a row. */
export function cursorOf(row: Row, terms: readonly OrderTerm[]): (string | number)[] {
  return terms.map(({ column }) => columnValue(row, column) as string | number);
}

/** The slots of a cursor. */
export function afterSlots(after: readonly (string | number)[] | undefined): Values {
  return Object.fromEntries((after ?? []).map((value, i) => [`after${i}`, value]));
}
