/** The statements on single rows of one table. */
import { sql } from "kysely";
import type { Dialect } from "./dialect/dialect.ts";
import { type FacetValue, isContent } from "./facet.ts";
import { spine, type TableSpec } from "./row.ts";
import { compile, memoize, type Statement, slot } from "./statement.ts";

/** Statements by what they do; a slot is named after its column. */
export interface RowStatements {
  readonly get: Statement;
  /** Gives a row if there is one with the uid. */
  readonly has: Statement;
  /** Slot `uids`: a JSON array. */
  readonly getMany: Statement;
  /** Slots `0`, `1` and so on, so many parents: gives a row if any of them has a child. */
  anyChild(parents: number): Statement;
  /** Slots `parent` and the column: the uid of the child that has the value in it. */
  child(column: string): Statement;
  readonly insert: Statement;
  /** Slot `read_version`: the version that the row must still have. */
  readonly update: Statement;
  /** Reads the row it removes. */
  readonly remove: Statement;
  /** Writes the named facets and nothing else. */
  setFacets(facets: readonly string[]): Statement;
  /** The indexes that sessions keep. */
  readonly indexes: readonly KeptIndex[];
}

/** The index of a column that is looked into; slots `uid` and `told`. */
export interface KeptIndex {
  readonly column: string;
  readonly add: Statement;
  readonly drop: Statement;
  /** What the index is told of a row with a value. */
  told(uid: string, value: FacetValue): string;
}

/** Compiles the statements of a table. */
export function rowStatements(dialect: Dialect, table: TableSpec): RowStatements {
  const { query } = dialect;
  const facets = Object.keys(table.facets);
  const read = ["packed", ...facets];
  const rows = query.selectFrom(table.name).select(read);
  const assign = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, slot(name)]));
  const setFacets = memoize((names: readonly string[]) =>
    compile(query, query.updateTable(table.name).set(assign(names)).where("uid", "=", slot("uid"))),
  );
  const child = memoize((column: string) =>
    compile(
      query,
      query.selectFrom(table.name).select("uid").where("parent", "=", slot("parent")).where(column, "=", slot(column)),
    ),
  );
  const anyChild = memoize((parents: number) => {
    const ofEach = Array.from(
      { length: parents },
      (_, i) => sql`select 1 from ${sql.table(table.name)} where parent = ${slot(String(i))}`,
    );
    return compile(query, sql`${sql.join(ofEach, sql` union all `)} limit 1`);
  });
  return {
    get: compile(query, rows.where("uid", "=", slot("uid"))),
    has: compile(query, query.selectFrom(table.name).select(sql.lit(1).as("one")).where("uid", "=", slot("uid"))),
    getMany: compile(query, rows.where(dialect.isIn(sql.ref("uid"), "text", slot("uids")))),
    anyChild: (parents) => anyChild(String(parents), parents),
    child: (column) => child(column, column),
    insert: compile(query, query.insertInto(table.name).values(assign([...spine, ...facets]))),
    update: compile(
      query,
      query
        .updateTable(table.name)
        .set(assign(["version", "update_time_us", "packed", ...facets]))
        .where("uid", "=", slot("uid"))
        .where("version", "=", slot("read_version")),
    ),
    remove: compile(query, query.deleteFrom(table.name).where("uid", "=", slot("uid")).returning(read)),
    setFacets: (names) => setFacets(names.join(" "), names),
    indexes: keptIndexes(dialect, table),
  };
}

function keptIndexes(dialect: Dialect, { name, facets }: TableSpec): KeptIndex[] {
  return Object.entries(facets).flatMap(([column, type]) => {
    const keeping = isContent(type) ? dialect.keepIndex(name, column, type) : undefined;
    if (keeping === undefined) return [];
    const { add, drop, told } = keeping;
    return [{ column, add: compile(dialect.query, add), drop: compile(dialect.query, drop), told }];
  });
}
