/** The orders in which an index has the children of a parent, read from the migrations, which create all indexes. */
import { ColumnNode, CreateIndexNode } from "kysely";
import { migrations } from "../migrations/index.ts";
import type { Dialect } from "../sql/dialect.ts";

/** By table, the columns that follow `parent` in an index; and `parent` itself, which all children share. */
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
