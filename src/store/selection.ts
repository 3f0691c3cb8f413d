/** What a list or a count is about, as callers say it and, resolved, as it is read. */
import { type FacetValue, isStorable, type ScalarValue, stored } from "./facet.ts";
import { checkContent, columnType } from "./row.ts";
import type { Values } from "./statement.ts";
import { holds, parentOf, type Range, type Subtree, unionOf } from "./subtree.ts";
import type { Table } from "./table.ts";

/**
 * A condition on a facet or a column of the spine; null is "" or 0, as stored. Of a `texts` facet: it has at least one of these, or none of them.
 * Of a `search` facet: this is a part of it, character by character; "" is part of every text.
 */
export type Condition =
  | { readonly column: string; readonly equals: FacetValue }
  | { readonly column: string; readonly in: readonly FacetValue[] }
  | { readonly column: string; readonly notIn: readonly FacetValue[] }
  | { readonly column: string; readonly greaterThan: number }
  | { readonly column: string; readonly hasAny: readonly string[] }
  | { readonly column: string; readonly hasNone: readonly string[] }
  | { readonly column: string; readonly contains: string };

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
  readonly after?: readonly ScalarValue[];
  /** Rows passed over, from `after` or else from the start. */
  readonly skip: number;
  readonly limit: number;
  /** The facets that rows come with, beside those of the order; all unless told. */
  readonly facets?: readonly string[];
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

/**
 * The comparisons that a condition can make: of values, and by what a column holds. `has` is `hasAny` of one, `containsExact` is `contains` of a text
 * that the column's index knows, so that no row need be looked at.
 */
export type Operator = ScalarOperator | ContentOperator;

/** The comparisons of a value. */
export type ScalarOperator = "equals" | "in" | "notIn" | "greaterThan";

/** The comparisons of what a column holds. */
export type ContentOperator = "has" | "hasAny" | "hasNone" | "contains" | "containsExact";

/** A selection in the terms of reading: at most one of `uids`, `ranges` and, alone or with `uids`, `parent`. */
export interface Resolved {
  readonly uids?: readonly string[];
  readonly parent?: string;
  /** Disjoint, in key order; `roots` are what they come from. */
  readonly ranges?: readonly Range[];
  readonly roots?: readonly Subtree[];
  readonly comparisons: readonly Comparison[];
  /** The columns that are looked into and whose index can find the rows. */
  readonly finders: readonly string[];
  /** The one of them that does; without it they are found by the scope. */
  readonly finder?: string;
  /** The values of the comparisons, by slot. */
  readonly values: Values;
}

/** The slot of the n-th comparison's value. */
export function comparisonSlot(index: number): string {
  return `where${index}`;
}

/** The slot of the parts that the index of a column is asked for, a JSON array of strings. */
export function partsSlot(column: string): string {
  return `parts ${column}`;
}

/** Resolves a selection; undefined when it can hold no row. */
export function resolve(table: Table, selection: Selection): Resolved | undefined {
  const { where = [] } = selection;
  let { parent } = selection;
  const comparisons: Comparison[] = [];
  const finders = new Set<string>();
  const parts = new Map<string, readonly string[]>();
  const values: Record<string, unknown> = {};
  for (const condition of where) {
    const { column } = condition;
    const compared = compare(table, condition);
    if (compared === undefined) return undefined;
    const { operator, operand } = compared;
    if (column === "parent" && operator === "equals") {
      if (parent !== undefined && parent !== operand) return undefined;
      parent = operand as string;
      continue;
    }
    values[comparisonSlot(comparisons.length)] = operand;
    comparisons.push({ column, operator });
    if (operator === "has" || operator === "hasAny" || operator === "hasNone") finders.add(column);
    if ("contains" in condition)
      parts.set(column, [...(parts.get(column) ?? []), ...table.partsOf(condition.contains).parts]);
  }
  for (const [column, all] of parts) {
    if (all.length > 0) finders.add(column);
    values[partsSlot(column)] = JSON.stringify([...new Set(all)]);
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
  return {
    comparisons,
    finders: [...finders],
    values,
    ...(uids && { uids }),
    ...(parent !== undefined && { parent }),
    ...union,
  };
}

/** How a condition is written, and the value of its slot. */
interface Compared {
  readonly operator: Operator;
  readonly operand: unknown;
}

/** The comparison that a condition makes; undefined for one that no row can meet. */
function compare({ spec, partsOf }: Table, condition: Condition): Compared | undefined {
  const { column } = condition;
  if ("hasAny" in condition || "hasNone" in condition) checkContent(spec, column, "texts");
  if ("hasAny" in condition) {
    const texts = [...new Set(condition.hasAny.filter(isStorable))];
    if (texts.length < 2) return texts.length === 0 ? undefined : { operator: "has", operand: texts[0] };
    return { operator: "hasAny", operand: JSON.stringify(texts) };
  }
  if ("hasNone" in condition)
    return { operator: "hasNone", operand: JSON.stringify(condition.hasNone.filter(isStorable)) };
  if ("contains" in condition) {
    checkContent(spec, column, "search");
    const operand = condition.contains;
    if (!isStorable(operand)) return undefined;
    return { operator: partsOf(operand).areExact ? "containsExact" : "contains", operand };
  }
  const type = columnType(spec, column);
  if ("equals" in condition)
    return isStorable(condition.equals) ? { operator: "equals", operand: stored(type, condition.equals) } : undefined;
  if ("greaterThan" in condition) return { operator: "greaterThan", operand: stored(type, condition.greaterThan) };
  const operator = "in" in condition ? "in" : "notIn";
  const list = "in" in condition ? condition.in : condition.notIn;
  return { operator, operand: JSON.stringify(list.filter(isStorable).map((value) => stored(type, value))) };
}
