/** What lists and counts must answer, by a model that sorts and filters in memory. */
import {
  type Condition,
  columnValue,
  type Database,
  type OrderTerm,
  type Row,
  type ScalarValue,
  type Selection,
  type TableSpec,
} from "../../src/store/index.ts";

/** Follows cursors to the end. */
export async function walk(
  db: Database,
  table: TableSpec,
  selection: Selection,
  orderBy: OrderTerm[],
  pageSize: number,
  skip: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of pages(db, table, selection, orderBy, pageSize, skip)) rows.push(...page);
  return rows;
}

/** The pages that cursors lead to. */
export async function* pages(
  db: Database,
  table: TableSpec,
  selection: Selection,
  orderBy: OrderTerm[],
  limit: number,
  skip: number,
) {
  const columns = [...orderBy.map(({ column }) => column), "uid"];
  let page = await db.read.list(table, { ...selection, orderBy, skip, limit });
  for (;;) {
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    const after = columns.map((column) => columnValue(last, column));
    page = await db.read.list(table, { ...selection, orderBy, after, skip: 0, limit });
  }
}

/** The rows of a selection in its order, found by looking at all. */
export function modelList(model: Map<string, Row>, selection: Selection, orderBy: OrderTerm[]): Row[] {
  const tie = { column: "uid", descending: orderBy.at(-1)?.descending ?? false };
  return [...model.values()]
    .filter((row) => isSelected(row, selection))
    .sort((a, b) => {
      for (const { column, descending } of [...orderBy, tie]) {
        const order = compare(columnValue(a, column), columnValue(b, column));
        if (order !== 0) return descending ? -order : order;
      }
      return 0;
    });
}

function isSelected(row: Row, { within, parent, uids, where = [] }: Selection): boolean {
  return (
    (within?.some(({ root, self }) => root === "" || row.uid.startsWith(`${root}/`) || (self && row.uid === root)) ??
      true) &&
    (parent === undefined || row.parent === parent) &&
    (uids?.includes(row.uid) ?? true) &&
    where.every((condition) => meets(row, condition))
  );
}

function meets(row: Row, condition: Condition): boolean {
  if ("contains" in condition) return (row.facets[condition.column] as string).includes(condition.contains);
  if ("hasAny" in condition || "hasNone" in condition) {
    const set = row.facets[condition.column] as readonly string[];
    return "hasAny" in condition
      ? condition.hasAny.some((text) => set.includes(text))
      : !condition.hasNone.some((text) => set.includes(text));
  }
  const value = columnValue(row, condition.column);
  if ("equals" in condition) return value === (condition.equals ?? "");
  if ("in" in condition) return condition.in.includes(value);
  if ("notIn" in condition) return !condition.notIn.includes(value);
  return (value as number) > condition.greaterThan;
}

function compare(a: ScalarValue, b: ScalarValue): number {
  return typeof a === "number" ? a - (b as number) : Buffer.compare(Buffer.from(a!), Buffer.from(b as string));
}
