/** What a list or a count is about, as callers say it and, resolved, as it is read. */
import { type FacetValue, isStorable, type ScalarValue, stored } from "./facet.ts";
import { checkContent, columnType, type TableSpec } from "./row.ts";
import type { Values } from "./statement.ts";
import { holds, parentOf, type Range, type Subtree, unionOf } from "./subtree.ts";

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

/** The comparisons that a condition can make: of values, and by what a column holds. `has` is `hasAny` of one. */
export type Operator = ScalarOperator | ContentOperator;

/** The comparisons of a value. */
export type ScalarOperator = "equals" | "in" | "notIn" | "greaterThan";

/** The comparisons of what a column holds. */
export type ContentOperator = "has" | "hasAny" | "hasNone" | "contains";

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

/** The slot of the trigrams that a column is to contain, a JSON array of strings. */
export function trigramSlot(column: string): string {
  return `trigrams ${column}`;
}

/** Resolves a selection; undefined when it can hold no row. */
export function resolve(table: TableSpec, selection: Selection): Resolved | undefined {
  const { parent, where = [] } = selection;
  const comparisons: Comparison[] = [];
  const finders = new Set<string>();
  const trigrams = new Map<string, readonly string[]>();
  const values: Record<string, unknown> = {};
  for (const [i, condition] of where.entries()) {
    const { column } = condition;
    const compared = compare(table, condition);
    if (compared === undefined) return undefined;
    const { operator, operand } = compared;
    comparisons.push({ column, operator });
    values[comparisonSlot(i)] = operand;
    if (operator === "has" || operator === "hasAny" || operator === "hasNone") finders.add(column);
    if ("contains" in condition)
      trigrams.set(column, [...(trigrams.get(column) ?? []), ...trigramsOf(condition.contains)]);
  }
  for (const [column, all] of trigrams) {
    if (all.length > 0) finders.add(column);
    values[trigramSlot(column)] = JSON.stringify([...new Set(all)].slice(0, maxTrigrams));
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
function compare(table: TableSpec, condition: Condition): Compared | undefined {
  const { column } = condition;
  if ("hasAny" in condition || "hasNone" in condition) checkContent(table, column, "texts");
  if ("hasAny" in condition) {
    const texts = [...new Set(condition.hasAny.filter(isStorable))];
    if (texts.length < 2) return texts.length === 0 ? undefined : { operator: "has", operand: texts[0] };
    return { operator: "hasAny", operand: JSON.stringify(texts) };
  }
  if ("hasNone" in condition)
    return { operator: "hasNone", operand: JSON.stringify(condition.hasNone.filter(isStorable)) };
  if ("contains" in condition) {
    checkContent(table, column, "search");
    const operand = condition.contains;
    return isStorable(operand) ? { operator: "contains", operand } : undefined;
  }
  const type = columnType(table, column);
  if ("equals" in condition)
    return isStorable(condition.equals) ? { operator: "equals", operand: stored(type, condition.equals) } : undefined;
  if ("greaterThan" in condition) return { operator: "greaterThan", operand: stored(type, condition.greaterThan) };
  const operator = "in" in condition ? "in" : "notIn";
  const list = "in" in condition ? condition.in : condition.notIn;
  return { operator, operand: JSON.stringify(list.filter(isStorable).map((value) => stored(type, value))) };
}

/** More trigrams hardly find fewer rows. */
const maxTrigrams = 32;

/** All sequences of three characters in a text; none in a shorter one, which no index finds. */
function trigramsOf(text: string): string[] {
  const characters = [...text];
  return characters.slice(2).map((_, i) => characters.slice(i, i + 3).join(""));
}
