/** The tables and indexes of a migration. */
import type { CreateTableBuilder, RawBuilder } from "kysely";
import type { Dialect } from "../dialect/dialect.ts";
import { type FacetType, isContent } from "../facet.ts";

/** What a resource table has beside its spine. */
export interface ResourceTable {
  readonly facets?: Readonly<Record<string, FacetType>>;
  readonly unique?: readonly (readonly string[])[];
  /** Each also ends with the uid, so that it gives an order. */
  readonly indexes?: readonly (readonly string[])[];
}

/**
 * A resource table: spine and facets, none of them ever NULL; indexes of the children of a parent, of both times and, where the resource has a
 * name, of the names and of the names below each parent. An index is called `<table>_<column>_<column>`, a unique one too: by that
 * name a violation is told. Columns that are looked into have an index each.
 */
export function resourceTable(
  dialect: Dialect,
  name: string,
  { facets = {}, unique = [], indexes = [] }: ResourceTable,
) {
  const isUnique = (index: readonly string[]) => unique.some((other) => other.join() === index.join());
  const byName = "name" in facets ? [["name"], ["parent", "name"]].filter((index) => !isUnique(index)) : [];
  const ordered = [["parent"], ["create_time_us"], ["update_time_us"], ...byName, ...indexes];
  const create = (columns: readonly string[]) =>
    dialect.query.schema.createIndex(`${name}_${columns.join("_")}`).on(name);
  const createUnique = (columns: readonly string[]) =>
    create(columns)
      .unique()
      .columns([...columns]);
  const columns = {
    uid: "text",
    parent: "text",
    version: "integer",
    create_time_us: "integer",
    update_time_us: "integer",
    body: "bytes",
    ...facets,
  } as const;
  const contents = Object.entries(facets).flatMap(([column, type]) => (isContent(type) ? [{ column, type }] : []));
  const key = contents.length > 0 ? dialect.rowKey : undefined;
  return [
    ...(key === undefined
      ? [keyedTable(dialect, name, columns, ["uid"])]
      : [keyedTable(dialect, name, { [key]: "integer", ...columns }, [key]), createUnique(["uid"])]),
    ...unique.map(createUnique),
    ...ordered.map((columns) => create(columns).columns([...columns, "uid"])),
    ...contents.flatMap(({ column, type }) => dialect.contentIndex(name, column, type)),
  ];
}

/** A table with a primary key and no column that can be NULL. */
export function keyedTable(
  { query, types }: Dialect,
  name: string,
  columns: Readonly<Record<string, keyof Dialect["types"]>>,
  key: readonly string[],
) {
  // biome-ignore lint/suspicious/noExplicitAny: the builder's type would grow with every column; the schema is not typed
  let table: CreateTableBuilder<any, any> = query.schema.createTable(name);
  for (const [column, type] of Object.entries(columns)) {
    table = table.addColumn(column, types[type] as RawBuilder<never>, (definition) => definition.notNull());
  }
  return table.addPrimaryKeyConstraint(`${name}_${key.join("_")}`, key as never);
}
