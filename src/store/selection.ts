/** What a list or a count is about, as callers say it and, resolved, as it is read. */
import { columnType, type FacetValue, isStorable, stored, type TableSpec } from "./row.ts";
import type { Values } from "./statement.ts";
import { holds, parentOf, type Range, type Subtree, unionOf } from "./subtree.ts";

/** A condition on a facet or a column of the spine; null is "" or 0, as stored. */
export type Condition =
  | { readonly column: string; readonly equals: FacetValue }
  | { readonly column: string; readonly in: readonly FacetValue[] }
  | { readonly column: string; readonly notIn: readonly FacetValue[] }
  | { readonly column: string; readonly greaterThan: number };

/** Rows that meet all that is given. */
export interface Selection {
  /** In at least one of these subtrees; none at all is no row. */
  readonly within?: readonly Subtree[];
  /** Direct children of this uid; "" is the roots. */
  readonly parent?: string;
  readonly uids?: readonly string[];
  readonly where?: readonly Condition[];
}

/** A page of a selection. */
export interface ListQuery extends Selection {
  /** The uid comes last where it is not named, in the direction of the column before it. */
  readonly orderBy: readonly OrderTerm[];
  /** The last row seen: its values of the columns of `orderBy`, then its uid. */
  readonly after?: readonly FacetValue[];
  /** Rows passed over, from `after` or else from the start. */
  readonly skip: number;
  readonly limit: number;
}

/** One column of an order. */
export interface OrderTerm {
  readonly column: string;
  readonly descending: boolean;
}

/** How one condition is written: everything but its values. */
export interface Comparison {
  readonly column: string;
  readonly operator: Operator;
}

/** The comparisons that a condition can make. */
export type Operator = "equals" | "in" | "notIn" | "greaterThan";

/** A selection in the terms of reading: at most one of `uids`, `ranges` and, alone or with `uids`, `parent`. */
export interface Resolved {
  readonly uids?: readonly string[];
  readonly parent?: string;
  /** Disjoint, in key order; `roots` are what they come from. */
  readonly ranges?: readonly Range[];
  readonly roots?: readonly Subtree[];
  readonly comparisons: readonly Comparison[];
  /** The values of the comparisons, by slot. */
  readonly values: Values;
}

/** The slot of the n-th comparison's value. */
export function comparisonSlot(index: number): string {
  return `where${index}`;
}

/** Resolves a selection; undefined when it can hold no row. */
export function resolve(table: TableSpec, selection: Selection): Resolved | undefined {
  const { parent, where = [] } = selection;
  const comparisons = where.map(({ column, ...operand }) => ({
    column,
    operator: Object.keys(operand)[0] as Operator,
  }));
  const values: Record<string, unknown> = {};
  for (const [i, condition] of where.entries()) {
    const operand = operandOf(table, condition);
    if (operand === undefined) return undefined;
    values[comparisonSlot(i)] = operand;
  }
  let uids = selection.uids;
  let union = selection.within && unionOf(selection.within);
  if (union !== undefined && (uids !== undefined || parent !== undefined)) {
    // A subtree with P in it, or at P, has all children of P; one below P at most its own root.
    const { roots, ranges } = union;
    const hasAllChildren = parent !== undefined && holds(ranges, `${parent}/`);
    if (uids !== undefined) uids = uids.filter((uid) => holds(ranges, uid));
    else if (!hasAllChildren)
      uids = roots.filter(({ root, self }) => self && parentOf(root) === parent).map(({ root }) => root);
    union = undefined;
  }
  if (union?.roots.length === 0 || uids?.length === 0) return undefined;
  return { comparisons, values, ...(uids && { uids }), ...(parent !== undefined && { parent }), ...union };
}

/** The value of a condition's slot; undefined for one that no row can equal. */
function operandOf(table: TableSpec, condition: Condition): unknown {
  const type = columnType(table, condition.column);
  if ("equals" in condition) return isStorable(condition.equals) ? stored(type, condition.equals) : undefined;
  if ("greaterThan" in condition) return stored(type, condition.greaterThan);
  const list = "in" in condition ? condition.in : condition.notIn;
  return JSON.stringify(list.filter(isStorable).map((value) => stored(type, value)));
}
