/** A table of one database: its spec, with every statement on it compiled. */
import { childOrders } from "./child-orders.ts";
import type { Dialect, PartsAsked } from "./dialect/dialect.ts";
import type { ContentType } from "./facet.ts";
import { type ListStatements, listStatements } from "./list-statements.ts";
import { type Row, rowReader, type TableSpec } from "./row.ts";
import { type RowStatements, rowStatements } from "./row-statements.ts";

/** A table as sessions use it. */
export interface Table {
  readonly spec: TableSpec;
  readonly row: RowStatements;
  readonly list: ListStatements;
  /** Makes a row of the columns that a statement reads: the spine's and those of facets, all unless told. */
  readonly read: (columns: readonly unknown[], facets?: readonly string[]) => Row;
  /** Whether the index of a column that is looked into knows its rows exactly, and their scopes. */
  knowsScope(column: string): boolean;
  /** What the index of a search text is asked for one that it is to contain. */
  partsOf(text: string): PartsAsked;
  /** Whether the rows of a page are better read as one value. */
  readonly joinsRows: boolean;
  /** The columns by which an index gives the children of a parent in order. */
  readonly childOrders: ReadonlySet<string>;
}

/** Finds the table of a spec; compiles it at the first call. */
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
        knowsScope: (column) => dialect.knowsScope(spec.facets[column] as ContentType),
        partsOf: dialect.partsOf,
        joinsRows: dialect.joined !== undefined,
        childOrders: orders.get(spec.name) ?? new Set(),
      };
      tables.set(spec, table);
    }
    return table;
  };
}
