/** The statements that read many rows of one table: each shape of query is compiled once. */
import { type Expression, type RawBuilder, sql } from "kysely";
import type { Content, ContentColumn, Dialect, Lookup } from "./dialect/dialect.ts";
import type { ContentType, ScalarType } from "./facet.ts";
import { columnType, type TableSpec } from "./row.ts";
import {
  type Comparison,
  type ContentOperator,
  comparisonSlot,
  type Operator,
  type OrderTerm,
  partsSlot,
  type ScalarOperator,
} from "./selection.ts";
import { compile, memoize, rowCount, type Statement, slot } from "./statement.ts";

/** All that the text of a statement depends on. */
export interface Shape {
  /**
   * Whole rows, each by itself or `joined` in one value and without facets, or only the columns of the order, by slots `limit` and `skip`; or their
   * number, up to slot `limit` where it is limited. `foundCount` is how many rows, up to slot `limit`, the finder's index gives.
   */
  readonly read: "rows" | "joined" | "keys" | "count" | "limitedCount" | "foundCount";
  /**
   * Where rows come from: `table`; `range`, slots `lo` and `hi`; `ranges`, slot `ranges`, a JSON array of pairs; `uids`, slot `uids`, a JSON
   * array; `eachRange`: of every range, in the order given, the first rows by uid (slot `limit`), all in all not more than slot `total`; `found` and
   * `foundInRanges`: by the index of the finder, and by nothing else, in the latter only those in slot `ranges`.
   */
  readonly source: "table" | "range" | "ranges" | "uids" | "eachRange" | "found" | "foundInRanges";
  /** The facets of whole rows. */
  readonly facets: readonly string[];
  /** Only children of slot `parent`. */
  readonly parent: boolean;
  readonly comparisons: readonly Comparison[];
  /** A column that is looked into. */
  readonly finder: string | undefined;
  readonly order: readonly OrderTerm[];
  /** Only rows behind the values in slots `after0`, `after1`, … of the order's columns. */
  readonly after: boolean;
  /** `walk` reads an index in the order and filters; `sort` finds by the filters and sorts; `free` leaves both to the database. */
  readonly plan: "walk" | "sort" | "free";
}

/** Gives the statement of a shape. */
export type ListStatements = (shape: Shape) => Statement;

/** Statements of a table by shape. */
export function listStatements(dialect: Dialect, table: TableSpec): ListStatements {
  const statement = memoize((shape: Shape) => compile(dialect.query, build(dialect, table, shape)));
  return (shape) => statement(keyOf(shape), shape);
}

function keyOf({ read, source, facets, parent, comparisons, finder, order, after, plan }: Shape): string {
  let key = `${read} ${source} ${plan} ${parent} ${after} ${finder}`;
  for (const facet of facets) key += ` ${facet}`;
  for (const { column, descending } of order) key += descending ? ` >${column}` : ` <${column}`;
  for (const { column, operator } of comparisons) key += ` ${column}:${operator}`;
  return key;
}

function build(dialect: Dialect, table: TableSpec, shape: Shape): RawBuilder<unknown> {
  if (shape.read === "foundCount") {
    const found = dialect.found(lookupOf(table, shape, "t"));
    return sql`select count(*) from (select 1 from (${found}) as f limit ${rowCount("limit")}) as c`;
  }
  if (shape.source === "eachRange") {
    const elements = dialect.elements(slot("ranges"));
    const source = sql.table(table.name);
    const filters = filtersOf(dialect, table, shape, "s");
    const uids = sql`select s.uid from ${source} as s where ${all(filters)} order by ${orderOf(dialect, table, shape, "s")} limit ${rowCount("limit")}`;
    const any = sql`exists (select 1 from ${source} as s where ${inRange(sql.ref("s.uid"))})`;
    return sql`select ${columnsOf(shape)} from ${dialect.eachOf(elements, table.name, uids, any)} limit ${rowCount("total")}`;
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
  if (shape.finder !== undefined) return dialect.finds(lookupOf(table, shape, "t")).from;
  const rows = sql`${sql.table(table.name)} as t`;
  return shape.source === "ranges" ? sql`${dialect.elements(slot("ranges"))} cross join ${rows}` : rows;
}

function columnsOf({ read, order, facets }: Shape): RawBuilder<unknown> {
  const columns = read === "keys" ? order.map(({ column }) => column) : ["packed", ...facets];
  return sql.join(columns.map((column) => sql.ref(`t.${column}`)));
}

function all(filters: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(filters, sql` and `);
}

/** Whether a uid is in the range that `r` stands at. */
function inRange(uid: Expression<unknown>): RawBuilder<unknown> {
  return sql`${uid} >= r.value ->> 0 and ${uid} < r.value ->> 1`;
}

function filtersOf(dialect: Dialect, table: TableSpec, shape: Shape, alias: string): RawBuilder<unknown>[] {
  const column = (name: string) => {
    const ref = sql.ref(`${alias}.${name}`);
    return shape.plan === "walk" || shape.finder !== undefined ? dialect.plain(ref, columnType(table, name)) : ref;
  };
  const filters: RawBuilder<unknown>[] = [];
  if (shape.source === "range")
    filters.push(sql`${column("uid")} >= ${slot("lo")} and ${column("uid")} < ${slot("hi")}`);
  if (shape.source === "ranges" || shape.source === "eachRange") filters.push(inRange(column("uid")));
  if (shape.source === "uids") filters.push(dialect.isIn(column("uid"), "text", slot("uids")));
  if (shape.source === "foundInRanges")
    filters.push(sql`exists (select 1 from ${dialect.elements(slot("ranges"))} where ${inRange(column("uid"))})`);
  if (shape.parent) filters.push(sql`${column("parent")} = ${slot("parent")}`);
  for (const [i, { column: name, operator }] of shape.comparisons.entries()) {
    if (!isContentOperator(operator))
      filters.push(compare(dialect, column(name), columnType(table, name), operator, slot(comparisonSlot(i))));
    else if (name !== shape.finder) filters.push(dialect.holds(columnAt(table, alias, name), contentOf(operator, i)));
  }
  if (shape.finder !== undefined) filters.push(...dialect.finds(lookupOf(table, shape, alias)).filters);
  if (shape.after) filters.push(behind(dialect, table, shape, alias));
  return filters;
}

const contentOperators: ReadonlySet<Operator> = new Set(["has", "hasAny", "hasNone", "contains", "containsExact"]);

function isContentOperator(operator: Operator): operator is ContentOperator {
  return contentOperators.has(operator);
}

function columnAt({ name: table, facets }: TableSpec, alias: string, column: string): ContentColumn {
  return { table, alias, column, type: facets[column] as ContentType };
}

function contentOf(operator: ContentOperator, index: number): Content {
  return { operator, value: slot(comparisonSlot(index)) };
}

/** What the index of the finder is asked. */
function lookupOf(table: TableSpec, { finder, comparisons, parent, source }: Shape, alias: string): Lookup {
  return {
    at: columnAt(table, alias, finder!),
    contents: comparisons.flatMap(({ column, operator }, i) =>
      column === finder ? [contentOf(operator as ContentOperator, i)] : [],
    ),
    parts: slot(partsSlot(finder!)),
    parent: parent ? slot("parent") : undefined,
    ranges: source === "foundInRanges" ? slot("ranges") : undefined,
  };
}

function compare(
  dialect: Dialect,
  column: Expression<unknown>,
  type: ScalarType,
  operator: ScalarOperator,
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

/** A column as the order and the cursor use it: plain when rows are found by the filters, so that no index is walked instead. */
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
 * Behind the cursor. In one direction that is a comparison of rows of values, which both databases seek by. In mixed directions it is a bound
 * on the first column to seek by, and the exact condition, kept from the planner because it would search once for each OR.
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
