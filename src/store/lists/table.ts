/** A table of a database: its spec and its compiled statements. */
import type { Row } from "../rows/record.ts";
import { rowReader, type TableSpec } from "../rows/row.ts";
import { type RowStatements, rowStatements } from "../rows/statements.ts";
import type { Dialect, SearchParts } from "../sql/dialect.ts";
import type { ContentType } from "../sql/indexed-column.ts";
import { childOrders } from "./indexes.ts";
import { type ListStatements, listStatements } from "./statements.ts";

/** A table with its statements. */
export interface Table {
  readonly spec: TableSpec;
  readonly row: RowStatements;
  readonly list: ListStatements;
  /** Makes a row of the values that a statement reads; see {@link rowReader}. */
  readonly read: (values: readonly unknown[], columns?: readonly string[]) => Row;
  /** See {@link Dialect.knowsScope}. */
  knowsScope(column: string): boolean;
  /** See {@link Dialect.textScans}. */
  readonly scansTexts: boolean;
  /** See {@link Dialect.partsOf}. */
  partsOf(text: string): SearchParts;
  /** Whether reading the rows of a page as one value is faster. */
  readonly joinsRows: boolean;
  /** See {@link Dialect.boundsChildren}. */
  readonly boundsChildren: boolean;
  /** See {@link Dialect.isDistributed}. */
  readonly isDistributed: boolean;
  /** The columns by which an index orders the children of a parent. */
  readonly childOrders: ReadonlySet<string>;
}

/** Returns the table of a spec. Its statements are compiled at the first call. */
export function tablesOf(dialect: Dialect): (spec: TableSpec) => Table {
  const tables = new WeakMap<TableSpec, Table>();
  const orders = childOrders(dialect);
  return (spec) => {
    let table = tables.get(spec);
    if (table === undefined) {
      table = {
        spec,
        row: rowStatements(dialect, spec),
        list: listStatements(dialect, spec),
        read: rowReader(spec),
        knowsScope: (column) => dialect.knowsScope(spec.columns[column] as ContentType),
        scansTexts: dialect.textScans !== undefined,
        partsOf: dialect.partsOf,
        joinsRows: dialect.joined !== undefined,
        boundsChildren: dialect.boundsChildren,
        isDistributed: dialect.isDistributed(spec.name),
        childOrders: orders.get(spec.name) ?? new Set(),
      };
      tables.set(spec, table);
    }
    return table;
  };
}
