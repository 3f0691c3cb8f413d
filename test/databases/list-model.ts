/** The expected results of lists and counts, from a model that sorts and filters in memory. */
import {
  type Condition,
  columnValue,
  type Database,
  type ListQuery,
  type OpenOptions,
  type OrderTerm,
  type ReadSession,
  type Row,
  type ScalarValue,
  type Selection,
  type TableSpec,
} from "../../src/store/index.ts";

/** The rows of all pages of a query. */
export async function walk({ read }: Pick<Database, "read">, table: TableSpec, query: ListQuery): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of read.pages(table, query)) rows.push(...page);
  return rows;
}

/** How a database may read, each with the sessions that do. */
export const waysToRead: readonly [string, OpenOptions, (db: Database) => ReadSession][] = [
  ["at once", {}, (db) => db.read],
  [
    "as long queries",
    { maxLongQueries: 2, fewRows: 0 },
    (db) => db.readFor({ caller: "a", signal: new AbortController().signal }),
  ],
];

/** The rows of a selection in its order. */
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
  if ("contains" in condition) return (row.columns[condition.column] as string).includes(condition.contains);
  if ("hasAny" in condition || "hasNone" in condition) {
    const set = row.columns[condition.column] as readonly string[];
    return "hasAny" in condition
      ? condition.hasAny.some((text) => set.includes(text))
      : !condition.hasNone.some((text) => set.includes(text));
  }
  const value = columnValue(row, condition.column);
  if ("equals" in condition) return value === (condition.equals ?? "");
  if ("in" in condition) return condition.in.includes(value);
  if ("notIn" in condition) return !condition.notIn.includes(value);
  if ("startsWith" in condition) return String(value).startsWith(condition.startsWith);
  return (value as number) > condition.greaterThan;
}

function compare(a: ScalarValue, b: ScalarValue): number {
  return typeof a === "number" ? a - (b as number) : Buffer.compare(Buffer.from(a!), Buffer.from(b as string));
}
