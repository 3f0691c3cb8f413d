/**
 * A row has the base columns of every resource table and the indexed columns of its own, which are derived from the
 * body for WHERE, ORDER BY and UNIQUE. No column is NULL: a missing value is stored, ordered and read as "", 0 or the
 * empty set, so that both databases sort it first.
 */

import { parentOf } from "../../uid.ts";
import {
  type ColumnType,
  type ColumnValue,
  type ContentType,
  isContent,
  readColumn,
  type ScalarType,
  type ScalarValue,
  storedColumn,
} from "../sql/indexed-column.ts";
import { bytesOf, unpack } from "./packed.ts";
import type { Row } from "./record.ts";

/** A resource table: its name and its indexed columns. */
export interface TableSpec {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Whether {@link ReadSession.changes} counts changes of this table. */
  readonly isWatched?: boolean;
  /** The quota that limits how many rows an organisation can have. */
  readonly quota?: string;
  /** The quota that limits how many bytes they can have. Such a table is in {@link countsBytes}. */
  readonly byteQuota?: string;
}

/** The columns of every resource table. Those before `packed` repeat values in it, for conditions and orders. */
export const baseColumns = ["uid", "parent", "version", "create_time_us", "update_time_us", "packed"] as const;

/** The columns that the table of a spec must have. */
export function columnsOf({ columns }: TableSpec): readonly string[] {
  return [...baseColumns, ...Object.keys(columns)];
}

const baseColumnTypes: ReadonlyMap<string, ScalarType> = new Map([
  ["uid", "text"],
  ["parent", "text"],
  ["version", "integer"],
  ["create_time_us", "integer"],
  ["update_time_us", "integer"],
]);

/** The type of a column that can be compared and ordered. Throws when the table has no such column. */
export function columnType(table: TableSpec, column: string): ScalarType {
  const type = baseColumnTypes.get(column) ?? indexedColumnType(table, column);
  if (isContent(type)) throw new Error(`column ${column} of table ${table.name} is not compared`);
  return type;
}

/** Throws unless the column has this type. */
export function checkContent(table: TableSpec, column: string, type: ContentType): void {
  if (indexedColumnType(table, column) !== type)
    throw new Error(`column ${column} of table ${table.name} is not ${type}`);
}

function indexedColumnType(table: TableSpec, column: string): ColumnType {
  const type = Object.hasOwn(table.columns, column) ? table.columns[column] : undefined;
  if (type === undefined) throw new Error(`table ${table.name} has no column ${column}`);
  return type;
}

/**
 * The value of a column of a row. The values of the columns of an order, then the uid, are the `after` of the next
 * page.
 */
export function columnValue(row: Row, column: string): ScalarValue {
  switch (column) {
    case "uid":
      return row.uid;
    case "parent":
      return row.parent;
    case "version":
      return row.version;
    case "create_time_us":
      return row.createTimeUs;
    case "update_time_us":
      return row.updateTimeUs;
    default: {
      const value = row.columns[column] ?? null;
      if (typeof value === "object" && value !== null) throw new Error(`column ${column} has no order`);
      return value;
    }
  }
}

/**
 * The stored form of indexed columns: of all of the table, or of those in `columns`. Throws for a value that cannot be
 * stored, and where a column has none.
 */
export function storedColumns(
  table: TableSpec,
  values: Readonly<Record<string, ColumnValue>>,
  columns: readonly string[] = Object.keys(table.columns),
): Record<string, string | number> {
  const unknown = Object.keys(values).find((column) => !Object.hasOwn(table.columns, column));
  if (unknown !== undefined) throw new Error(`table ${table.name} has no column ${unknown}`);
  return Object.fromEntries(
    columns.map((column) => {
      const value = values[column];
      if (value === undefined) throw new Error(`a row of table ${table.name} is written without column ${column}`);
      return [column, storedColumn(table.columns[column]!, value)];
    }),
  );
}

/** The values of indexed columns from their stored form. */
export function readColumns(
  table: TableSpec,
  stored: Readonly<Record<string, string | number>>,
): Record<string, ColumnValue> {
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [name, readColumn(table.columns[name]!, value)]),
  );
}

const uidShape = /^[0-~]+(?:\/[0-~]+)*$/;

/** Throws for a malformed uid or a parent that is not the uid's. Subtrees and counters rely on the path. */
export function checkUid(uid: string, parent: string): void {
  if (!uidShape.test(uid)) throw new TypeError(`${JSON.stringify(uid)} is not a uid`);
  if (parentOf(uid) !== parent) throw new TypeError(`${parent} is not the parent of ${uid}`);
}

/**
 * Makes a row of the values of `packed` and of `columns`, by default all indexed columns of the table, in this order.
 */
export function rowReader(table: TableSpec): (values: readonly unknown[], columns?: readonly string[]) => Row {
  const all = Object.keys(table.columns);
  return (values, columns = all) => {
    const row = unpack(bytesOf(values[0]));
    for (let i = 0; i < columns.length; i++) {
      const name = columns[i]!;
      row.columns[name] = readColumn(table.columns[name]!, values[1 + i]);
    }
    return row;
  };
}
