/** The SQL expressions that differ between databases. All other SQL is the same text for every database. */

import { type DialectAdapter, DummyDriver, type Expression, Kysely, type QueryCompiler, type RawBuilder } from "kysely";
import type { ColumnType, ColumnValue, ContentType, ScalarType } from "./indexed-column.ts";
import type { ContentOperator } from "./operators.ts";
import type { SqlConnection } from "./statement.ts";

/** Knows tables and columns by name only: their types are in the migrations and in the spec of each table. */
// biome-ignore lint/suspicious/noExplicitAny: Kysely's own way to say that the schema is not typed
export type QueryBuilder = Kysely<any>;

/** A content column, of a table that is read under an alias. */
export interface ContentColumn {
  readonly table: string;
  readonly alias: string;
  readonly column: string;
  readonly type: ContentType;
}

/** A condition on a content column. */
export interface Content {
  readonly operator: ContentOperator;
  /** A text; for `hasAny` and `hasNone` a JSON array of texts. */
  readonly value: Expression<unknown>;
}

/** A query of a content index: conditions on its column, and optionally the parent or the ranges of the rows. */
export interface Lookup {
  readonly at: ContentColumn;
  readonly contents: readonly Content[];
  /** For `contains`: a JSON array of the parts of the text that the index is queried for. */
  readonly parts: Expression<unknown>;
  readonly parent: Expression<unknown> | undefined;
  /** A JSON array of `[lo, hi]`. */
  readonly ranges: Expression<unknown> | undefined;
}

/** The parts of a text that a content index is queried for; none when the index cannot find the text. */
export interface SearchParts {
  readonly parts: readonly string[];
  /** Whether a row that has all parts has the text. */
  readonly areExact: boolean;
}

/**
 * The rows that a content index finds: a FROM item, and filters that remove its false positives. They need not check
 * the scope.
 */
export interface Found {
  readonly from: RawBuilder<unknown>;
  readonly filters: readonly RawBuilder<boolean>[];
}

/** Indexes that have the search texts of rows. */
export interface TextScans {
  /** A FROM item: the table of a search text, read through the index. */
  from(at: ContentColumn): RawBuilder<unknown>;
  /** The statement that creates the index. */
  create(table: string, column: string): RawBuilder<unknown>;
}

/**
 * How a row is locked until the end of the transaction: `hold` excludes its removal, `change` also other changes, and
 * `removal` also that others hold it.
 */
export type Lock = "hold" | "change" | "removal";

/** How a session maintains a content index. */
export interface IndexMaintenance {
  /** Adds the row with slot `uid` and the document in slot `document`. */
  readonly add: RawBuilder<unknown>;
  /** Removes it. The document must be the one that was added. */
  readonly drop: RawBuilder<unknown>;
  /** The document that the index holds for a row with this value. */
  documentOf(uid: string, value: ColumnValue): string;
}

/** The expressions for content columns. */
export interface ContentDialect {
  /** Whether a row meets a condition, checked on the row itself. */
  holds(at: ContentColumn, content: Content): RawBuilder<boolean>;
  /** The rows that the index finds, each once. */
  finds(lookup: Lookup): Found;
  /**
   * A SELECT with one row for each row that the index finds. There are no false positives where the index knows scopes,
   * or where all conditions are `containsExact` and there is no scope.
   */
  found(lookup: Lookup): RawBuilder<unknown>;
  /** Whether the index of a type has no false positives and knows the scopes of its rows. */
  knowsScope(type: ContentType): boolean;
  /**
   * Indexes that have a search text beside the uid and the parent, in the order of uids: they show that a row does not
   * have a text without reading it. Absent where no index can have long texts.
   */
  readonly textScans?: TextScans;
  /** Reads which content indexes sessions maintain. Absent where the database does. */
  maintainedIndexes?(query: QueryBuilder, connection: SqlConnection): Promise<readonly ContentIndexing[]>;
  /** The parts that the index of a search text is queried for to find `text`. */
  partsOf(text: string): SearchParts;
  /** The statements that create a content index. */
  contentIndex(table: string, column: string, type: ContentType): readonly RawBuilder<unknown>[];
  /** How sessions maintain a content index; undefined where the database does. */
  indexMaintenance(table: string, column: string, type: ContentType): IndexMaintenance | undefined;
  /**
   * The integer column that content indexes refer to; it replaces the uid as the key of its table. Undefined where none
   * is needed.
   */
  readonly rowKey: string | undefined;
}

/** The expressions in which databases differ. */
export interface Dialect extends ContentDialect {
  readonly name: string;
  /** Builds and compiles queries. It cannot run them. */
  readonly query: QueryBuilder;
  readonly types: Readonly<Record<ColumnType | "bytes", RawBuilder<unknown>>>;
  /**
   * A condition that is true, and fails the statement once it has been stopped. Absent where the database can stop any
   * statement.
   */
  readonly goesOn?: RawBuilder<boolean>;
  /** The column's value as an expression that no index serves. */
  plain(column: Expression<unknown>, type: ScalarType): RawBuilder<unknown>;
  /** A FROM item `r` with a column `value`: the elements of a JSON array. */
  elements(json: Expression<unknown>): RawBuilder<unknown>;
  /** A FROM item `r` with a column `value`: the elements of a JSON array of strings, as text. */
  texts(json: Expression<unknown>): RawBuilder<unknown>;
  /** Whether a column is among the elements of a JSON array of its type. */
  isIn(column: Expression<unknown>, type: ScalarType, json: Expression<unknown>): RawBuilder<boolean>;
  /**
   * Whether children that meet a condition are also limited by the range of their uids. The planner may find them by an
   * index of the condition alone, which ends with the uid.
   */
  readonly boundsChildren: boolean;
  /**
   * Whether the rows of a table are distributed by their roots. It then has a column `root`, which every statement with
   * a scope names. Statements without one read all shards.
   */
  isDistributed(table: string): boolean;
  /**
   * A FROM item `t`: for every element of `r`, in order, the rows whose uids `uids` selects. `r` comes from `elements`;
   * `uids` reads the table as `s`. Where `any` is false for an element, it has no rows. `root` is that of all rows,
   * where the table is distributed.
   */
  eachOf(
    r: RawBuilder<unknown>,
    table: string,
    uids: RawBuilder<unknown>,
    any: RawBuilder<unknown>,
    root?: Expression<unknown>,
  ): RawBuilder<unknown>;
  /**
   * A SELECT of one value: the column `packed` of all rows of `rows`, concatenated in order. Absent where reading many
   * values is as fast.
   */
  readonly joined?: (rows: RawBuilder<unknown>) => RawBuilder<unknown>;
  /** Ends a SELECT that locks the rows it finds and skips rows that another transaction has locked. */
  readonly skipLocked: RawBuilder<unknown>;
  /** Ends a SELECT that locks the rows it finds. Empty where one transaction writes at a time. */
  readonly locks: Readonly<Record<Lock, RawBuilder<unknown>>>;
  /** Ends a CREATE TABLE for small rows that are found by their primary key. */
  readonly clustered: RawBuilder<unknown>;
  /** A SELECT of the columns of every table: the name of the table, then that of the column. */
  readonly columns: RawBuilder<unknown>;
  /**
   * Every column of every table, without those that hold an index: the table, the column, its type, and its place in
   * the primary key, from 1; 0 if it has none.
   */
  readonly catalogue: RawBuilder<unknown>;
  /** A SELECT of the server's time in milliseconds since 1970. Absent where that is the time of this machine. */
  readonly clock?: RawBuilder<unknown>;
  /** A SELECT of one row if the table with this name exists. */
  tableExists(name: Expression<unknown>): RawBuilder<unknown>;
}

/** A query builder that compiles for a database and cannot run anything. */
export function queryBuilder(adapter: DialectAdapter, compiler: QueryCompiler): QueryBuilder {
  return new Kysely({
    dialect: {
      createAdapter: () => adapter,
      createDriver: () => new DummyDriver(),
      createQueryCompiler: () => compiler,
      createIntrospector: () => {
        throw new Error("the schema is not read by introspection");
      },
    },
  });
}

/** A content index that sessions maintain. */
export interface ContentIndexing {
  readonly table: string;
  /** Adds rows that it does not have. */
  index(connection: SqlConnection, uids: readonly string[]): Promise<void>;
}
