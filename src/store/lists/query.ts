/** Queries as callers write them, and the slots of their statements. */
import type { ColumnValue, ScalarValue } from "../sql/indexed-column.ts";
import type { Operator } from "../sql/operators.ts";
import type { Subtree } from "../sql/subtree.ts";

/**
 * A condition on one of the columns `C`, base columns or indexed ones; null is "" or 0, as stored. `hasAny` and
 * `hasNone` are for `texts` columns, `contains` for `search` columns: it matches a substring, character by character.
 * Every text contains "".
 */
export type Condition<C extends string = string> = { readonly column: C } & (
  | { readonly equals: ColumnValue }
  | { readonly in: readonly ColumnValue[] }
  | { readonly notIn: readonly ColumnValue[] }
  | { readonly greaterThan: number }
  | { readonly startsWith: string }
  | { readonly hasAny: readonly string[] }
  | { readonly hasNone: readonly string[] }
  | { readonly contains: string }
);

/** The rows that meet everything that is given. */
export interface Selection {
  /** In at least one of these subtrees. An empty array selects no row. */
  readonly within?: readonly Subtree[];
  /** Children of this uid; "" selects the roots. */
  readonly parent?: string;
  readonly uids?: readonly string[];
  readonly where?: readonly Condition[];
}

/** A page of a selection. */
export interface ListQuery extends Selection {
  /** By default the uid. Where the uid is not named, it is appended in the direction of the last column. */
  readonly orderBy?: readonly OrderTerm[];
  /** The row after which to read: its values of the columns of `orderBy`, then its uid. */
  readonly after?: readonly ScalarValue[];
  /** The number of rows to skip, by default 0. */
  readonly skip?: number;
  readonly limit: number;
  /** The indexed columns to read, in addition to those of the order. By default all. */
  readonly columns?: readonly string[];
}

/** One column of an order. */
export interface OrderTerm {
  readonly column: string;
  readonly descending: boolean;
}

/** A condition without its value. */
export interface Comparison {
  readonly column: string;
  readonly operator: Operator;
}

/** The slot for the value of the n-th comparison. */
export function comparisonSlot(index: number): string {
  return `where${index}`;
}

/** The slot for the parts that the index of a column is queried for, a JSON array of strings. */
export function partsSlot(column: string): string {
  return `parts ${column}`;
}
