/**
 * A row: the spine that every resource table has, and facets, the columns derived from the body that serve WHERE, ORDER BY and UNIQUE.
 * No column holds NULL: a facet without a value is stored, ordered and read back as "" or 0, so that both databases sort it alike (first).
 */
import { parentOf } from "./subtree.ts";

/** The value of a facet. Instants are integer microseconds since 1970; null is "" or 0. */
export type FacetValue = string | number | null;

/** What a facet's column holds. */
export type FacetType = "text" | "integer";

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

/** Columns of every resource table, in the order in which rows are read. */
export const spine = ["uid", "parent", "version", "create_time_us", "update_time_us", "body"] as const;

const spineTypes: ReadonlyMap<string, FacetType> = new Map([
  ["uid", "text"],
  ["parent", "text"],
  ["version", "integer"],
  ["create_time_us", "integer"],
  ["update_time_us", "integer"],
]);

/** The type of a column that can be compared and ordered. A column that the table does not have is a bug, and throws. */
export function columnType(table: TableSpec, column: string): FacetType {
  const type = spineTypes.get(column) ?? (Object.hasOwn(table.facets, column) ? table.facets[column] : undefined);
  if (type === undefined) throw new Error(`table ${table.name} has no column ${column}`);
  return type;
}

/** What a column of a row holds: the values of the order's columns, and the uid, are the `after` of the next page. */
export function columnValue(row: Row, column: string): FacetValue {
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
    default:
      return row.facets[column] ?? null;
  }
}

/** Whether a value is one that every database holds alike: text has no NUL and no lone surrogate. */
export function isStorable(value: FacetValue): boolean {
  return typeof value !== "string" || (!value.includes("\0") && value.isWellFormed());
}

/** A value as its column stores it; one that cannot be stored, or is of another type, throws. */
export function stored(type: FacetType, value: FacetValue): string | number {
  if (value === null) return type === "text" ? "" : 0;
  if (type === "text" ? typeof value !== "string" : !Number.isSafeInteger(value))
    throw new TypeError(`${value} is not ${type}`);
  if (!isStorable(value)) throw new TypeError("text with NUL or a lone surrogate cannot be stored");
  return value;
}

/** Facets as their columns store them: of the whole table, or of the columns named. */
export function storedFacets(
  table: TableSpec,
  facets: Readonly<Record<string, FacetValue>>,
  columns: readonly string[] = Object.keys(table.facets),
): Record<string, string | number> {
  const unknown = Object.keys(facets).find((facet) => !Object.hasOwn(table.facets, facet));
  if (unknown !== undefined) throw new Error(`table ${table.name} has no facet ${unknown}`);
  return Object.fromEntries(columns.map((column) => [column, stored(table.facets[column]!, facets[column] ?? null)]));
}

const uidShape = /^[0-~]+(?:\/[0-~]+)*$/;

/** Refuses a uid that is no path, and a parent that is not the uid's: subtrees are key ranges, and counters follow the path. */
export function checkUid(uid: string, parent: string): void {
  if (!uidShape.test(uid)) throw new TypeError(`${JSON.stringify(uid)} is not a uid`);
  if (parentOf(uid) !== parent) throw new TypeError(`${parent} is not the parent of ${uid}`);
}

/** Makes rows of what a statement on `spine` and the facets reads. */
export function rowReader(table: TableSpec): (columns: readonly unknown[]) => Row {
  const facets = Object.keys(table.facets);
  return (columns) => {
    const row: Row = {
      uid: columns[0] as string,
      parent: columns[1] as string,
      version: columns[2] as number,
      createTimeUs: columns[3] as number,
      updateTimeUs: columns[4] as number,
      body: columns[5] as Uint8Array,
      facets: {},
    };
    for (let i = 0; i < facets.length; i++) row.facets[facets[i]!] = columns[spine.length + i] as FacetValue;
    return row;
  };
}
