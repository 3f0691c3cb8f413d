/** In which orders an index gives the children of a parent, as the migrations say: they make all indexes. */
import { ColumnNode, CreateIndexNode } from "kysely";
import type { Dialect } from "./dialect/dialect.ts";
import { migrations } from "./migrations/index.ts";

/** By table, the columns that stand behind the parent in an index of it; the parent, too, which all children share. */
export function childOrders(dialect: Dialect): ReadonlyMap<string, ReadonlySet<string>> {
  const orders = new Map<string, Set<string>>();
  for (const { statements } of migrations) {
    for (const statement of statements(dialect)) {
      const index = statement.toOperationNode();
      if (!CreateIndexNode.is(index) || index.where !== undefined) continue;
      const [first, second] = (index.columns ?? []).map((node) => (ColumnNode.is(node) ? node.column.name : undefined));
      if (first !== "parent" || second === undefined) continue;
      const table = index.table!.table.identifier.name;
      orders.set(table, (orders.get(table) ?? new Set()).add(first).add(second));
    }
  }
  return orders;
}
