/** A table of one database: its spec, with every statement on it compiled. */
import type { Dialect } from "./dialect/dialect.ts";
import type { ContentType } from "./facet.ts";
import { type ListStatements, listStatements } from "./list-statements.ts";
import { type Row, rowReader, type TableSpec } from "./row.ts";
import { type RowStatements, rowStatements } from "./row-statements.ts";

/** A table as sessions use it. */
export interface Table {
  readonly spec: TableSpec;
  readonly row: RowStatements;
  readonly list: ListStatements;
  /** Makes a row of the columns that a statement reads. */
  readonly read: (columns: readonly unknown[]) => Row;
  /** Whether the index of a column that is looked into knows its rows exactly, and their scopes. */
  knowsScope(column: string): boolean;
}

/** Finds the table of a spec; compiles it at the first call. */
export function tablesOf(dialect: Dialect): (spec: TableSpec) => Table {
  const tables = new WeakMap<TableSpec, Table>();
  return (spec) => {
    let table = tables.get(spec);
    if (table === undefined) {
      table = {
        spec,
        row: rowStatements(dialect, spec),
        list: listStatements(dialect, spec),
        read: rowReader(spec),
        knowsScope: (column) => dialect.knowsScope(spec.facets[column] as ContentType),
      };
      tables.set(spec, table);
    }
    return table;
  };
}
