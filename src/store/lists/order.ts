/** Orders and cursors. */

import type { Row } from "../rows/record.ts";
import { columnType, columnValue, type TableSpec } from "../rows/row.ts";
import { type ScalarValue, stored } from "../sql/indexed-column.ts";
import type { Values } from "../sql/statement.ts";
import type { OrderTerm } from "./query.ts";

/** A total order of rows, which ends with the uid, and the values of the row after which to read. */
export interface Order {
  readonly terms: readonly OrderTerm[];
  readonly after: readonly (string | number)[] | undefined;
}

/**
 * The order of a query. Repeated columns and columns after the uid are dropped. Without the uid it is appended in the
 * direction of the last column, so that one index serves both directions.
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

/** The cursor after a row. */
export function cursorOf(row: Row, terms: readonly OrderTerm[]): (string | number)[] {
  return terms.map(({ column }) => columnValue(row, column) as string | number);
}

/** The slots of a cursor. */
export function afterSlots(after: readonly (string | number)[] | undefined): Values {
  return Object.fromEntries((after ?? []).map((value, i) => [`after${i}`, value]));
}
