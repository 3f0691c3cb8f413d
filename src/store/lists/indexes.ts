/** The indexes of columns, read from the migrations, which create all of them. */
import { ColumnNode, CreateIndexNode } from "kysely";
import { migrations } from "../migrations/index.ts";
import type { Dialect } from "../sql/dialect.ts";
import { compile } from "../sql/statement.ts";

/** An index of columns, in its order. */
export interface TableIndex {
  readonly table: string;
  readonly columns: readonly string[];
  readonly isUnique: boolean;
}

/** The indexes that a database has once all migrations have run. */
export function indexesOf(dialect: Dialect): readonly TableIndex[] {
  const indexes = new Map<string, TableIndex>();
  for (const statement of migrations.flatMap(({ statements }) => statements(dialect))) {
    const node = statement.toOperationNode();
    const dropped = /^drop index "?(\w+)"?$/.exec(compile(dialect.query, statement).text)?.[1];
    if (dropped !== undefined) indexes.delete(dropped);
    if (!CreateIndexNode.is(node) || node.where !== undefined) continue;
    const columns = (node.columns ?? []).flatMap((column) => (ColumnNode.is(column) ? column.column.name : []));
    const table = node.table!.table.identifier.name;
    indexes.set(node.name.name, { table, columns, isUnique: node.unique ?? false });
  }
  return [...indexes.values()];
}

/** By table, the columns that follow `parent` in an index; and `parent` itself, which all children share. */
export function childOrders(dialect: Dialect): ReadonlyMap<string, ReadonlySet<string>> {
  const orders = new Map<string, Set<string>>();
  for (const { table, columns } of indexesOf(dialect)) {
    const [first, second] = columns;
    if (first !== "parent" || second === undefined) continue;
    orders.set(table, (orders.get(table) ?? new Set()).add(first).add(second));
  }
  return orders;
}
