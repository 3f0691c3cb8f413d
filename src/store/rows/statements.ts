/** The statements on single rows of one table. */
import { sql } from "kysely";
import { rootOf } from "../../uid.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type ColumnValue, isContent } from "../sql/indexed-column.ts";
import { compile, compileAll, derivedSlot, memoize, type Statement, slot } from "../sql/statement.ts";
import { baseColumns, type TableSpec } from "./row.ts";

/** The statements on single rows. A slot has the name of its column. */
export interface RowStatements {
  readonly get: Statement;
  /** Returns one row if the uid exists. */
  readonly has: Statement;
  /** Slot `uids`: a JSON array. */
  readonly getMany: Statement;
  /** As `has`, and locks the row so that it is not removed. */
  readonly hold: Statement;
  /** As `get`, and locks the row. */
  readonly getToChange: Statement;
  readonly getToRemove: Statement;
  /** Locks the rows with keys from slot `lo` to slot `hi`, excluded, in their order. */
  readonly lockRange: Statement;
  /** Slots `0`, `1`, … for that many parents. Returns one row if any of them has a child. */
  anyChild(parents: number): Statement;
  /** Slots `parent`, not "" if `isBelow`, and the column. Returns the uid of the child that has the value. */
  child(column: string, isBelow: boolean): Statement;
  readonly insert: Statement;
  /** Slot `read_version`: the version that the row must have. */
  readonly update: Statement;
  /** Returns the row that it removes. */
  readonly remove: Statement;
  /** Writes these columns only. */
  setColumns(columns: readonly string[]): Statement;
  /** The content indexes that sessions maintain. */
  readonly indexes: readonly MaintainedIndex[];
}

/** A content index that sessions maintain. The statements have the slots `uid` and `document`. */
export interface MaintainedIndex {
  readonly column: string;
  readonly add: Statement;
  readonly drop: Statement;
  /** The document that the index holds for a row with this value. */
  documentOf(uid: string, value: ColumnValue): string;
}

/** Compiles the statements of a table. */
export function rowStatements(dialect: Dialect, table: TableSpec): RowStatements {
  const { query } = dialect;
  const columns = Object.keys(table.columns);
  const read = ["packed", ...columns];
  const rows = query.selectFrom(table.name).select(read);
  const name = sql.table(table.name);
  const all = sql.join(read.map((column) => sql.ref(column)));
  const isDistributed = dialect.isDistributed(table.name);
  const root = (of: string) => derivedSlot(of, rootOf);
  const andRoot = (of: string) => (isDistributed ? sql` and root = ${root(of)}` : sql``);
  const atUid = sql<boolean>`uid = ${slot("uid")}${andRoot("uid")}`;
  const assign = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, slot(name)]));
  const setColumns = memoize((names: readonly string[]) =>
    compile(query, query.updateTable(table.name).set(assign(names)).where(atUid)),
  );
  const child = memoize(({ column, isBelow }: { readonly column: string; readonly isBelow: boolean }) =>
    compile(
      query,
      query
        .selectFrom(table.name)
        .select("uid")
        .where(sql<boolean>`parent = ${slot("parent")}${isBelow ? andRoot("parent") : sql``}`)
        .where(column, "=", slot(column)),
    ),
  );
  const anyChild = memoize((parents: number) => {
    const ofEach = Array.from(
      { length: parents },
      (_, i) => sql`select 1 from ${sql.table(table.name)} where parent = ${slot(String(i))}${andRoot(String(i))}`,
    );
    return compile(query, sql`${sql.join(ofEach, sql` union all `)} limit 1`);
  });
  return {
    ...compileAll(query, {
      get: rows.where(atUid),
      has: query.selectFrom(table.name).select(sql.lit(1).as("one")).where(atUid),
      getMany: rows.where(
        sql<boolean>`${dialect.isIn(sql.ref("uid"), "text", slot("uids"))}${andRootOfUids(isDistributed)}`,
      ),
      hold: sql`select 1 from ${name} where ${atUid} ${dialect.locks.hold}`,
      getToChange: sql`select ${all} from ${name} where ${atUid} ${dialect.locks.change}`,
      getToRemove: sql`select ${all} from ${name} where ${atUid} ${dialect.locks.removal}`,
      lockRange: sql`select 1 from ${name} where uid >= ${slot("lo")} and uid < ${slot("hi")}${andRoot("lo")} order by uid ${dialect.locks.removal}`,
      insert: query
        .insertInto(table.name)
        .values({ ...assign([...baseColumns, ...columns]), ...(isDistributed && { root: root("uid") }) }),
      update: query
        .updateTable(table.name)
        .set(assign(["version", "update_time_us", "packed", ...columns]))
        .where(atUid)
        .where("version", "=", slot("read_version")),
      remove: query.deleteFrom(table.name).where(atUid).returning(read),
    }),
    anyChild: (parents) => anyChild(String(parents), parents),
    child: (column, isBelow) => child(`${column} ${isBelow}`, { column, isBelow }),
    setColumns: (names) => setColumns(names.join(" "), names),
    indexes: maintainedIndexes(dialect, table),
  };
}

/** The condition that names the roots of slot `uids`. */
function andRootOfUids(isDistributed: boolean) {
  const roots = (uids: string) => [...new Set((JSON.parse(uids) as string[]).map(rootOf))];
  return isDistributed ? sql` and root = any(${derivedSlot("uids", roots)}::text[])` : sql``;
}

function maintainedIndexes(dialect: Dialect, { name, columns }: TableSpec): MaintainedIndex[] {
  return Object.entries(columns).flatMap(([column, type]) => {
    const maintenance = isContent(type) ? dialect.indexMaintenance(name, column, type) : undefined;
    if (maintenance === undefined) return [];
    const { add, drop, documentOf } = maintenance;
    return [{ column, add: compile(dialect.query, add), drop: compile(dialect.query, drop), documentOf }];
  });
}
