/** Statements that create tables and indexes, for migrations. */
import type { CreateTableBuilder, RawBuilder } from "kysely";
import type { Dialect } from "./dialect.ts";
import { type ColumnType, isContent } from "./indexed-column.ts";

/** What a resource table has in addition to the base columns. */
export interface ResourceTable {
  readonly columns?: Readonly<Record<string, ColumnType>>;
  readonly unique?: readonly (readonly string[])[];
  /** Each is extended by the uid, so that it has a total order. */
  readonly indexes?: readonly (readonly string[])[];
}

/**
 * The statements that create a resource table in the current layout, with its indexes: by parent, by both times, if
 * there is a name by name and by parent and name, and those of `unique` and `indexes`. Each content column has a
 * content index, and each search text an index for scans where the database uses them. No column is NULL.
 *
 * An index is named `<table>_<column>_<column>`; a NotUniqueError reports that name.
 *
 * A migration that changes the layout must keep this one under a versioned name, for the migrations before it.
 */
export function resourceTable(dialect: Dialect, name: string, table: ResourceTable) {
  const searched = Object.entries(table.columns ?? {}).filter(([, type]) => type === "search");
  const { textScans } = dialect;
  return [
    ...tableStatements(dialect, name, "packed", table),
    ...(textScans === undefined ? [] : searched.map(([column]) => textScans.create(name, column))),
  ];
}

/** The layout of migrations 0001 to 0006, which 0007 converts to the current one. */
export function resourceTableV1(dialect: Dialect, name: string, table: ResourceTable) {
  return tableStatements(dialect, name, "body", table);
}

function tableStatements(
  dialect: Dialect,
  name: string,
  bytesColumn: "packed" | "body",
  { columns = {}, unique = [], indexes = [] }: ResourceTable,
) {
  const isUnique = (index: readonly string[]) => unique.some((other) => other.join() === index.join());
  const byName = "name" in columns ? [["name"], ["parent", "name"]].filter((index) => !isUnique(index)) : [];
  const ordered = [["parent"], ["create_time_us"], ["update_time_us"], ...byName, ...indexes];
  const create = (columns: readonly string[]) =>
    dialect.query.schema.createIndex(`${name}_${columns.join("_")}`).on(name);
  const createUnique = (columns: readonly string[]) =>
    create(columns)
      .unique()
      .columns([...columns]);
  const allColumns = {
    uid: "text",
    parent: "text",
    version: "integer",
    create_time_us: "integer",
    update_time_us: "integer",
    [bytesColumn]: "bytes",
    ...columns,
  } as const;
  const contents = Object.entries(columns).flatMap(([column, type]) => (isContent(type) ? [{ column, type }] : []));
  const key = contents.length > 0 ? dialect.rowKey : undefined;
  return [
    ...(key === undefined
      ? [keyedTable(dialect, name, allColumns, ["uid"])]
      : [keyedTable(dialect, name, { [key]: "integer", ...allColumns }, [key]), createUnique(["uid"])]),
    ...unique.map(createUnique),
    ...ordered.map((columns) => create(columns).columns([...columns, "uid"])),
    ...contents.flatMap(({ column, type }) => dialect.contentIndex(name, column, type)),
  ];
}

/** A table with a primary key, whose columns are all NOT NULL. */
export function keyedTable(
  { query, types }: Dialect,
  name: string,
  columns: Readonly<Record<string, keyof Dialect["types"]>>,
  key: readonly string[],
) {
  // biome-ignore lint/suspicious/noExplicitAny: the builder's type would grow with every column
  let table: CreateTableBuilder<any, any> = query.schema.createTable(name);
  for (const [column, type] of Object.entries(columns)) {
    table = table.addColumn(column, types[type] as RawBuilder<never>, (definition) => definition.notNull());
  }
  return table.addPrimaryKeyConstraint(`${name}_${key.join("_")}`, [...key]);
}
