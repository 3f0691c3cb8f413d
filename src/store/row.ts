/**
 * A row: the spine that every resource table has, and facets, the columns derived from the body that serve WHERE, ORDER BY and UNIQUE.
 * No column holds NULL: a facet without a value is stored, ordered and read back as "", 0 or the empty set, so that both databases sort it alike (first).
 */
import {
  type ContentType,
  type FacetType,
  type FacetValue,
  isContent,
  readFacet,
  type ScalarType,
  type ScalarValue,
  storedFacet,
} from "./facet.ts";
import { bytesOf, unpack } from "./packed.ts";
import { parentOf } from "./subtree.ts";

/** A resource table: its name, and its facets in the order of its columns. */
export interface TableSpec {
  readonly name: string;
  readonly facets: Readonly<Record<string, FacetType>>;
  /** Whether {@link ReadSession.changes} counts what is inserted, updated and removed here. */
  readonly isWatched?: boolean;
}

/** One stored resource. */
export interface Row {
  /** The path of ids from the root: `a/b/c`, made of printable ASCII above `/`. Never changes. */
  uid: string;
  /** What stands before the last `/` of the uid; "" for a root. */
  parent: string;
  /** 1 at first, one more with every update. */
  version: number;
  createTimeUs: number;
  updateTimeUs: number;
  /** The encoded message, the only truth. */
  body: Uint8Array;
  facets: Record<string, FacetValue>;
}

/** Columns of every resource table; those before `packed` say again what is in it, for conditions and orders. */
export const spine = ["uid", "parent", "version", "create_time_us", "update_time_us", "packed"] as const;

const spineTypes: ReadonlyMap<string, ScalarType> = new Map([
  ["uid", "text"],
  ["parent", "text"],
  ["version", "integer"],
  ["create_time_us", "integer"],
  ["update_time_us", "integer"],
]);

/** The type of a column that can be compared and ordered. Any other, and one that the table does not have, is a bug, and throws. */
export function columnType(table: TableSpec, column: string): ScalarType {
  const type = spineTypes.get(column) ?? facetType(table, column);
  if (isContent(type)) throw new Error(`column ${column} of table ${table.name} is not compared`);
  return type;
}

/** Makes sure that a column is looked into in this way. Any other is a bug, and throws. */
export function checkContent(table: TableSpec, column: string, type: ContentType): void {
  if (facetType(table, column) !== type) throw new Error(`column ${column} of table ${table.name} is not ${type}`);
}

function facetType(table: TableSpec, column: string): FacetType {
  const type = Object.hasOwn(table.facets, column) ? table.facets[column] : undefined;
  if (type === undefined) throw new Error(`table ${table.name} has no column ${column}`);
  return type;
}

/** What a column of a row holds: the values of the order's columns, and the uid, are the `after` of the next page. */
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
      const value = row.facets[column] ?? null;
      if (typeof value === "object" && value !== null) throw new Error(`column ${column} gives no order`);
      return value;
    }
  }
}

/** Facets as their columns store them: of the whole table, or of the columns named. */
export function storedFacets(
  table: TableSpec,
  facets: Readonly<Record<string, FacetValue>>,
  columns: readonly string[] = Object.keys(table.facets),
): Record<string, string | number> {
  const unknown = Object.keys(facets).find((facet) => !Object.hasOwn(table.facets, facet));
  if (unknown !== undefined) throw new Error(`table ${table.name} has no facet ${unknown}`);
  return Object.fromEntries(
    columns.map((column) => [column, storedFacet(table.facets[column]!, facets[column] ?? null)]),
  );
}

/** Facets as they are read back. */
export function readFacets(
  table: TableSpec,
  columns: Readonly<Record<string, string | number>>,
): Record<string, FacetValue> {
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [name, readFacet(table.facets[name]!, value)]),
  );
}

const uidShape = /^[0-~]+(?:\/[0-~]+)*$/;

/** Refuses a uid that is no path, and a parent that is not the uid's: subtrees are key ranges, and counters follow the path. */
export function checkUid(uid: string, parent: string): void {
  if (!uidShape.test(uid)) throw new TypeError(`${JSON.stringify(uid)} is not a uid`);
  if (parentOf(uid) !== parent) throw new TypeError(`${parent} is not the parent of ${uid}`);
}

/** Makes rows of what a statement on `packed` and then facets, all unless told, reads. */
export function rowReader(table: TableSpec): (columns: readonly unknown[], facets?: readonly string[]) => Row {
  const all = Object.keys(table.facets);
  return (columns, facets = all) => {
    const row = unpack(bytesOf(columns[0]));
    for (let i = 0; i < facets.length; i++) {
      const name = facets[i]!;
      row.facets[name] = readFacet(table.facets[name]!, columns[1 + i]);
    }
    return row;
  };
}
