/** Resolves the selection of a caller to the form that statements use. */

import { parentOf } from "../../uid.ts";
import { checkContent, columnType } from "../rows/row.ts";
import { isStorable, stored } from "../sql/indexed-column.ts";
import type { Operator } from "../sql/operators.ts";
import type { Values } from "../sql/statement.ts";
import { holds, type Range, rangeOf, type Subtree, unionOf } from "../sql/subtree.ts";
import { type Comparison, type Condition, comparisonSlot, partsSlot, type Selection } from "./query.ts";
import type { Table } from "./table.ts";

/** A resolved selection. Of `uids`, `parent` and `ranges` it has at most one, see {@link withRanges}. */
export interface Resolved {
  readonly uids?: readonly string[];
  readonly parent?: string;
  /** Disjoint, in key order. `roots` are the subtrees that they belong to. */
  readonly ranges?: readonly Range[];
  readonly roots?: readonly Subtree[];
  readonly comparisons: readonly Comparison[];
  /** The content columns whose index can find the rows. */
  readonly usableIndexes: readonly string[];
  /** The one of them that is used; without it the rows are found by their scope. */
  readonly drivingIndex?: string;
  /** Whether its rows are found by reading the search texts of the scope, see `Shape.plan`. */
  readonly isScanned?: boolean;
  /** Whether its rows are found by the scope alone, see `Shape.isByScope`. */
  readonly isByScope?: boolean;
  /** The values of the comparisons, by slot. */
  readonly values: Values;
}

/** The selection with its scope as ranges of keys: the children of a parent are in the range below it. */
export function withRanges(selected: Resolved): Resolved {
  const { parent, ranges } = selected;
  return parent === undefined || ranges !== undefined
    ? selected
    : { ...selected, ranges: [rangeOf({ root: parent, self: false })] };
}

/** Resolves a selection; undefined when it cannot have any row. */
export function resolve(table: Table, selection: Selection): Resolved | undefined {
  const { where = [] } = selection;
  let { parent } = selection;
  const comparisons: Comparison[] = [];
  const usableIndexes = new Set<string>();
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
    if (operator === "has" || operator === "hasAny" || operator === "hasNone") usableIndexes.add(column);
    if ("contains" in condition)
      parts.set(column, [...(parts.get(column) ?? []), ...table.partsOf(condition.contains).parts]);
  }
  for (const [column, all] of parts) {
    if (all.length > 0) usableIndexes.add(column);
    values[partsSlot(column)] = JSON.stringify([...new Set(all)]);
  }
  let uids = selection.uids;
  let union = selection.within && unionOf(selection.within);
  if (union !== undefined && (uids !== undefined || parent !== undefined)) {
    // A subtree whose root is P or above has all children of P. One whose root is a child of P has at most that child.
    const { roots, ranges } = union;
    const hasAllChildren = parent !== undefined && holds(ranges, `${parent}/`);
    if (uids !== undefined) uids = uids.filter((uid) => holds(ranges, uid));
    else if (!hasAllChildren)
      uids = roots.filter(({ root, self }) => self && parentOf(root) === parent).map(({ root }) => root);
    union = undefined;
  }
  if (union?.roots.length === 0 || uids?.length === 0) return undefined;
  const resolved = {
    comparisons,
    usableIndexes: [...usableIndexes],
    values,
    ...(uids && { uids }),
    ...(parent !== undefined && { parent }),
    ...union,
  };
  const isBound = table.boundsChildren && uids === undefined && comparisons.length > 0 && usableIndexes.size === 0;
  return isBound ? withRanges(resolved) : resolved;
}

/** The operator of a condition, and the value of its slot. */
interface Compared {
  readonly operator: Operator;
  readonly operand: unknown;
}

/** Translates a condition; undefined when no row can meet it. */
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
  if ("greaterThan" in condition)
    return { operator: "greaterThan", operand: stored(type, withinIntegers(condition.greaterThan)) };
  if ("startsWith" in condition)
    return isStorable(condition.startsWith)
      ? { operator: "startsWith", operand: stored(type, condition.startsWith) }
      : undefined;
  const operator = "in" in condition ? "in" : "notIn";
  const list = "in" in condition ? condition.in : condition.notIn;
  return { operator, operand: JSON.stringify(list.filter(isStorable).map((value) => stored(type, value))) };
}

/** The nearest integer that a column can have: a caller may ask for any time, and no row has a greater one. */
function withinIntegers(value: number): number {
  return Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
