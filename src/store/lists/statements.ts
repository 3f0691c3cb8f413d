/** The statements that read many rows of a table. Each shape of query is compiled once. */

import { type Expression, type RawBuilder, sql } from "kysely";
import { columnType, type TableSpec } from "../rows/row.ts";
import type { Content, ContentColumn, Dialect, Lookup } from "../sql/dialect.ts";
import type { ContentType, ScalarType } from "../sql/indexed-column.ts";
import type { ContentOperator, Operator, ScalarOperator } from "../sql/operators.ts";
import { compile, derivedSlot, memoize, rowCount, type Statement, slot } from "../sql/statement.ts";
import { type Comparison, comparisonSlot, type OrderTerm, partsSlot } from "./query.ts";

/** Everything that the text of a statement depends on. */
export interface Shape {
  /**
   * What is read:
   * - `rows`: whole rows; `joined`: the same without indexed columns, as one value; `keys`: the columns of the order.
   *   Slots `limit` and `skip`.
   * - `count`: the number of rows; `limitedCount`: counted up to slot `limit`.
   * - `foundCount`: the number of rows that the driving index finds, counted up to slot `limit`.
   */
  readonly read: "rows" | "joined" | "keys" | "count" | "limitedCount" | "foundCount";
  /**
   * Where rows come from:
   * - `table`: the whole table.
   * - `range`: one range of keys. Slots `lo` and `hi`.
   * - `ranges`: several. Slot `ranges`, a JSON array of `[lo, hi]`.
   * - `eachRange`: the first rows by uid of each of `ranges`, in their order. Slot `limit` for one range, slot `total`
   *   for all.
   * - `uids`: slot `uids`, a JSON array.
   * - `found`, `foundInRanges`: the driving index; in the latter only rows in slot `ranges`.
   */
  readonly source: "table" | "range" | "ranges" | "uids" | "eachRange" | "found" | "foundInRanges";
  /** Which roots a distributed table is asked for: all, or that in slot `root`, or those in slot `roots`, an array. */
  readonly roots: "all" | "one" | "several";
  /** The indexed columns to read. */
  readonly columns: readonly string[];
  /** Only children of slot `parent`. */
  readonly parent: boolean;
  readonly comparisons: readonly Comparison[];
  /** The content column whose index finds the rows. */
  readonly drivingIndex: string | undefined;
  readonly order: readonly OrderTerm[];
  /** Only rows after the values in slots `after0`, `after1`, … of the order's columns. */
  readonly after: boolean;
  /**
   * `walk` reads an index in the order and filters; `sort` finds rows by the filters and sorts; `scan` reads the search
   * texts that the only comparisons are about, in the order of uids, and sorts for another; `free` leaves it to the
   * database.
   */
  readonly plan: "walk" | "sort" | "scan" | "free";
  /**
   * Whether the rows of the scope are compared with ranges of values: the index of the column may have any number of
   * rows of other scopes in the range.
   */
  readonly isByScope: boolean;
  /** Whether the statement can be stopped while it runs. */
  readonly isStoppable: boolean;
}

/** Returns the statement of a shape. */
export type ListStatements = (shape: Shape) => Statement;

/** Statements of a table by shape. */
export function listStatements(dialect: Dialect, table: TableSpec): ListStatements {
  const statement = memoize((shape: Shape) => compile(dialect.query, build(dialect, table, shape)));
  return (shape) => statement(keyOf(shape), shape);
}

function keyOf(shape: Shape): string {
  const { read, source, roots, columns, parent, comparisons, drivingIndex, order, after, plan } = shape;
  let key = `${read} ${source} ${roots} ${plan} ${parent} ${after} ${shape.isByScope} ${shape.isStoppable} ${drivingIndex}`;
  for (const column of columns) key += ` ${column}`;
  for (const { column, descending } of order) key += descending ? ` >${column}` : ` <${column}`;
  for (const { column, operator } of comparisons) key += ` ${column}:${operator}`;
  return key;
}

function build(dialect: Dialect, table: TableSpec, shape: Shape): RawBuilder<unknown> {
  if (shape.read === "foundCount") {
    const found = sql`(${dialect.found(lookupOf(table, shape, "t"))}) as f`;
    const goesOn = dialect.goesOn !== undefined && shape.isStoppable ? sql` where ${dialect.goesOn}` : sql``;
    return sql`select count(*) from (select 1 from ${found}${goesOn} limit ${rowCount("limit")}) as c`;
  }
  if (shape.source === "eachRange") {
    const elements = dialect.elements(slot("ranges"));
    const source = sql.table(table.name);
    const filters = filtersOf(dialect, table, shape, "s");
    const uids = sql`select s.uid from ${tableOf(dialect, table, shape, "s")} where ${all(filters)} order by ${orderOf(dialect, table, shape, "s")} limit ${rowCount("limit")}`;
    const root = shape.roots === "one" ? slot("root") : undefined;
    const any = sql`exists (select 1 from ${source} as s where ${inRange(sql.ref("s.uid"))})`;
    return sql`select ${columnsOf(shape)} from ${dialect.eachOf(elements, table.name, uids, any, root)} limit ${rowCount("total")}`;
  }
  const from = fromOf(dialect, table, shape);
  const filters = filtersOf(dialect, table, shape, "t");
  const where = filters.length === 0 ? sql`` : sql` where ${all(filters)}`;
  switch (shape.read) {
    case "count":
      return sql`select count(*) from ${from}${where}`;
    case "limitedCount":
      return sql`select count(*) from (select 1 from ${from}${where} limit ${rowCount("limit")}) as c`;
    case "joined":
      return dialect.joined!(
        sql`select t.packed from ${from}${where} order by ${orderOf(dialect, table, shape, "t")} limit ${rowCount("limit")} offset ${rowCount("skip")}`,
      );
    default:
      return sql`select ${columnsOf(shape)} from ${from}${where} order by ${orderOf(dialect, table, shape, "t")} limit ${rowCount("limit")} offset ${rowCount("skip")}`;
  }
}

function fromOf(dialect: Dialect, table: TableSpec, shape: Shape): RawBuilder<unknown> {
  if (shape.drivingIndex !== undefined) return dialect.finds(lookupOf(table, shape, "t")).from;
  const rows = tableOf(dialect, table, shape, "t");
  return shape.source === "ranges" ? sql`${dialect.elements(slot("ranges"))} cross join ${rows}` : rows;
}

function tableOf(dialect: Dialect, table: TableSpec, { plan, comparisons }: Shape, alias: string): RawBuilder<unknown> {
  return plan === "scan"
    ? dialect.textScans!.from(columnAt(table, alias, comparisons[0]!.column))
    : sql`${sql.table(table.name)} as ${sql.ref(alias)}`;
}

function columnsOf({ read, order, columns }: Shape): RawBuilder<unknown> {
  const names = read === "keys" ? order.map(({ column }) => column) : ["packed", ...columns];
  return sql.join(names.map((name) => sql.ref(`t.${name}`)));
}

function all(filters: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(filters, sql` and `);
}

/** Whether a uid is in the range of `r`. */
function inRange(uid: Expression<unknown>): RawBuilder<unknown> {
  return sql`${uid} >= r.value ->> 0 and ${uid} < r.value ->> 1`;
}

function filtersOf(dialect: Dialect, table: TableSpec, shape: Shape, alias: string): RawBuilder<unknown>[] {
  const isPlain = shape.plan === "walk" || shape.drivingIndex !== undefined;
  const column = (name: string, operator?: Operator) => {
    const ref = sql.ref(`${alias}.${name}`);
    const isCompared = shape.isByScope && operator !== undefined && isRange(operator);
    return isPlain || isCompared ? dialect.plain(ref, columnType(table, name)) : ref;
  };
  const filters: RawBuilder<unknown>[] = [];
  if (shape.source === "range")
    filters.push(sql`${column("uid")} >= ${slot("lo")} and ${column("uid")} < ${slot("hi")}`);
  if (shape.source === "ranges" || shape.source === "eachRange") filters.push(inRange(column("uid")));
  if (shape.source === "uids") filters.push(dialect.isIn(column("uid"), "text", slot("uids")));
  if (shape.source === "foundInRanges")
    filters.push(sql`exists (select 1 from ${dialect.elements(slot("ranges"))} where ${inRange(column("uid"))})`);
  if (shape.roots === "one") filters.push(sql`${sql.ref(`${alias}.root`)} = ${slot("root")}`);
  if (shape.roots === "several") filters.push(sql`${sql.ref(`${alias}.root`)} = any(${slot("roots")}::text[])`);
  if (shape.parent) filters.push(sql`${column("parent")} = ${slot("parent")}`);
  for (const [i, { column: name, operator }] of shape.comparisons.entries()) {
    if (operator === "startsWith")
      filters.push(...startsWith(shape, alias, name, column(name, operator), comparisonSlot(i)));
    else if (!isContentOperator(operator))
      filters.push(
        compare(dialect, column(name, operator), columnType(table, name), operator, slot(comparisonSlot(i))),
      );
    else if (name !== shape.drivingIndex)
      filters.push(dialect.holds(columnAt(table, alias, name), contentCondition(operator, i)));
  }
  if (shape.drivingIndex !== undefined) filters.push(...dialect.finds(lookupOf(table, shape, alias)).filters);
  if (shape.after) filters.push(behind(dialect, table, shape, alias));
  if (shape.isStoppable && dialect.goesOn !== undefined) filters.push(dialect.goesOn);
  return filters;
}

/** Whether an index serves an operator by a range of its entries. */
export function isRange(operator: Operator): boolean {
  return operator === "startsWith" || operator === "greaterThan";
}

const contentOperators: ReadonlySet<Operator> = new Set(["has", "hasAny", "hasNone", "contains", "containsExact"]);

function isContentOperator(operator: Operator): operator is ContentOperator {
  return contentOperators.has(operator);
}

function columnAt({ name: table, columns }: TableSpec, alias: string, column: string): ContentColumn {
  return { table, alias, column, type: columns[column] as ContentType };
}

function contentCondition(operator: ContentOperator, index: number): Content {
  return { operator, value: slot(comparisonSlot(index)) };
}

/** The query of the driving index. */
function lookupOf(table: TableSpec, { drivingIndex, comparisons, parent, source }: Shape, alias: string): Lookup {
  return {
    at: columnAt(table, alias, drivingIndex!),
    contents: comparisons.flatMap(({ column, operator }, i) =>
      column === drivingIndex ? [contentCondition(operator as ContentOperator, i)] : [],
    ),
    parts: slot(partsSlot(drivingIndex!)),
    parent: parent ? slot("parent") : undefined,
    ranges: source === "foundInRanges" ? slot("ranges") : undefined,
  };
}

/**
 * The texts from the prefix up to the prefix and the last of all characters. A walk of the column's index begins at one
 * end, or at the cursor, and ends at the other. `column` is as the other filters have it.
 */
function startsWith(
  { plan, order, after }: Shape,
  alias: string,
  name: string,
  column: Expression<unknown>,
  prefix: string,
): RawBuilder<unknown>[] {
  const [first] = order;
  const walked = plan === "walk" && first?.column === name ? sql.ref(`${alias}.${name}`) : column;
  const [low, high] = !after ? [walked, walked] : first?.descending ? [walked, column] : [column, walked];
  const end = derivedSlot(prefix, (text: string) => `${text}\u{10FFFF}`);
  return [sql`${low} >= ${slot(prefix)}`, sql`${high} < ${end}`];
}

function compare(
  dialect: Dialect,
  column: Expression<unknown>,
  type: ScalarType,
  operator: Exclude<ScalarOperator, "startsWith">,
  value: Expression<unknown>,
): RawBuilder<unknown> {
  switch (operator) {
    case "equals":
      return sql`${column} = ${value}`;
    case "greaterThan":
      return sql`${column} > ${value}`;
    case "in":
      return dialect.isIn(column, type, value);
    case "notIn":
      return sql`not ${dialect.isIn(column, type, value)}`;
  }
}

function orderOf(dialect: Dialect, table: TableSpec, shape: Shape, alias: string): RawBuilder<unknown> {
  return sql.join(
    shape.order.map(({ column, descending }) => {
      const ref = orderColumn(dialect, table, shape, alias, column);
      return descending ? sql`${ref} desc` : sql`${ref} asc`;
    }),
  );
}

/**
 * A column in ORDER BY and in the cursor. With `sort` no index may serve it, so that the database does not walk one.
 */
function orderColumn(
  dialect: Dialect,
  table: TableSpec,
  shape: Shape,
  alias: string,
  column: string,
): Expression<unknown> {
  const ref = sql.ref(`${alias}.${column}`);
  return shape.plan === "sort" ? dialect.plain(ref, columnType(table, column)) : ref;
}

/**
 * The condition for rows after the cursor. For a single direction it is a row comparison, which both databases seek by.
 * For mixed directions it is a bound on the first column, to seek by, and the exact condition, which no index may
 * serve: the planner would search once for each OR.
 */
function behind(dialect: Dialect, table: TableSpec, shape: Shape, alias: string): RawBuilder<unknown> {
  const { order } = shape;
  const columns = order.map(({ column }) => orderColumn(dialect, table, shape, alias, column));
  const values = order.map((_, i) => slot(`after${i}`));
  const first = order[0]!;
  if (order.every(({ descending }) => descending === first.descending)) {
    const sign = first.descending ? sql`<` : sql`>`;
    return sql`(${sql.join(columns)}) ${sign} (${sql.join(values)})`;
  }
  const plain = order.map(({ column }) => dialect.plain(sql.ref(`${alias}.${column}`), columnType(table, column)));
  let exact: RawBuilder<unknown> | undefined;
  for (let i = order.length - 1; i >= 0; i--) {
    const beyond = order[i]!.descending ? sql`${plain[i]} < ${values[i]}` : sql`${plain[i]} > ${values[i]}`;
    exact = exact === undefined ? beyond : sql`(${beyond} or (${plain[i]} = ${values[i]} and ${exact}))`;
  }
  const bound = first.descending ? sql`${columns[0]} <= ${values[0]}` : sql`${columns[0]} >= ${values[0]}`;
  return sql`${bound} and ${exact}`;
}
