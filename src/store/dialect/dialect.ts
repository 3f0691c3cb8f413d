/**
 * What differs between databases. A dialect file holds exactly: opening, running a compiled statement, column types, conflict codes,
 * counter slots, transactions, and the few expressions below; a second file of each, the indexes of columns that are looked into. All else is one text for every database.
 */
import { type DialectAdapter, DummyDriver, type Expression, Kysely, type QueryCompiler, type RawBuilder } from "kysely";
import type { Counters } from "../counters.ts";
import type { ContentType, FacetValue, ScalarType } from "../facet.ts";
import type { ContentOperator } from "../selection.ts";
import type { Connection } from "../statement.ts";

/** Tables and columns are known by name only: the schema is in the migrations and in each table's spec. */
// biome-ignore lint/suspicious/noExplicitAny: Kysely's own way to say that the schema is not typed
export type QueryBuilder = Kysely<any>;

/** A column that is looked into, of a table that is read under an alias. */
export interface ContentColumn {
  readonly table: string;
  readonly alias: string;
  readonly column: string;
  readonly type: ContentType;
}

/** One thing that a column is to hold. */
export interface Content {
  readonly operator: ContentOperator;
  /** A text; for `hasAny` and `hasNone` a JSON array of texts. */
  readonly value: Expression<unknown>;
}

/** All that an index is asked at once: the things that a column is to hold, and of which parent, or in which ranges, its rows are. */
export interface Lookup {
  readonly at: ContentColumn;
  readonly contents: readonly Content[];
  /** For texts that are to be contained: a JSON array of the parts that the index is asked for. */
  readonly parts: Expression<unknown>;
  readonly parent: Expression<unknown> | undefined;
  /** A JSON array of pairs. */
  readonly ranges: Expression<unknown> | undefined;
}

/** How the index of a search text is asked for a text: by parts of it, none where it cannot find it. */
export interface PartsAsked {
  readonly parts: readonly string[];
  /** Whether a row that has all of them has the text. */
  readonly areExact: boolean;
}

/** The rows of a table that an index gives: a FROM item, and what else each must meet to hold all that is asked. It need not look at their scope. */
export interface Found {
  readonly from: RawBuilder<unknown>;
  readonly filters: readonly RawBuilder<boolean>[];
}

/** How a session keeps the index of a column. */
export interface IndexKeeping {
  /** Adds the row of slot `uid` by what slot `told` tells of it. */
  readonly add: RawBuilder<unknown>;
  /** Drops it, told the same. */
  readonly drop: RawBuilder<unknown>;
  /** What the index is told of a row with a value. */
  told(uid: string, value: FacetValue): string;
}

/** The expressions in which databases differ. */
export interface Dialect {
  readonly name: string;
  /** Builds and compiles; never runs anything. */
  readonly query: QueryBuilder;
  readonly types: {
    readonly text: RawBuilder<unknown>;
    readonly integer: RawBuilder<unknown>;
    readonly texts: RawBuilder<unknown>;
    readonly search: RawBuilder<unknown>;
    readonly bytes: RawBuilder<unknown>;
  };
  /** The column's value, for comparisons and orders that must not use an index. */
  plain(column: Expression<unknown>, type: ScalarType): RawBuilder<unknown>;
  /** A FROM item `r` with a column `value`: the elements of a JSON array. */
  elements(json: Expression<unknown>): RawBuilder<unknown>;
  /** A FROM item `r` with a column `value`: the elements of a JSON array of strings, as text. */
  texts(json: Expression<unknown>): RawBuilder<unknown>;
  /** Whether a column is among the elements of a JSON array of its type. */
  isIn(column: Expression<unknown>, type: ScalarType, json: Expression<unknown>): RawBuilder<boolean>;
  /** Whether a row's column holds something, told from the row itself. */
  holds(at: ContentColumn, content: Content): RawBuilder<boolean>;
  /** The rows that the index gives, each once. */
  finds(lookup: Lookup): Found;
  /**
   * A SELECT of one row for each that the index gives. They are at least those that are asked for; no others where it knows scopes, nor where all
   * contents are `containsExact` and there is no scope.
   */
  found(lookup: Lookup): RawBuilder<unknown>;
  /** Whether the index of a type knows its rows exactly, and their scopes. */
  knowsScope(type: ContentType): boolean;
  /** What the index of a search text is asked for one that it is to contain. */
  partsOf(text: string): PartsAsked;
  /** The statements that make the index of a column that is looked into. */
  contentIndex(table: string, column: string, type: ContentType): readonly RawBuilder<unknown>[];
  /** How sessions keep it; undefined where the database does. */
  keepIndex(table: string, column: string, type: ContentType): IndexKeeping | undefined;
  /** The integer column by which such an index knows rows, the key of its table in place of the uid; undefined where none is needed. */
  readonly rowKey: string | undefined;
  /**
   * A FROM item: the rows, as `t`, whose uids `uids` selects from table `s`, for every element of `r` in its order. `r` is `elements`; where
   * `any` is false for an element there is none.
   */
  eachOf(
    r: RawBuilder<unknown>,
    table: string,
    uids: RawBuilder<unknown>,
    any: RawBuilder<unknown>,
  ): RawBuilder<unknown>;
  /**
   * A SELECT of one value: the bytes of column `packed` of all rows that `rows` selects, in its order. Absent where the driver makes many values as
   * fast.
   */
  readonly joined?: (rows: RawBuilder<unknown>) => RawBuilder<unknown>;
  /** What a SELECT ends with that takes the rows it finds and passes over those that another transaction has taken. */
  readonly skipLocked: RawBuilder<unknown>;
  /** What CREATE TABLE ends with for small rows that are found by their key alone. */
  readonly clustered: RawBuilder<unknown>;
  /** One row when the table named by the slot exists. */
  tableExists(name: Expression<unknown>): RawBuilder<unknown>;
}

/** One open database. */
export interface Engine {
  readonly dialect: Dialect;
  /** Reads outside any transaction. */
  readonly reader: Connection;
  /**
   * A number that is another one whenever anything may have been committed since, by whatever process. Absent where that is not known without
   * asking the server.
   */
  readonly commits?: () => number;
  /** What is read from now on is what all processes have committed by now. Absent where it always is. */
  refresh?(): void;
  /** Whether other transactions run at the same time, so that a row met by the unique index may be one the work could not yet see. */
  readonly isConcurrent: boolean;
  /**
   * Runs `work` in a transaction and gives its result once that is durable. Nothing it did stays when it throws. A ConflictError makes it
   * run again where that can help; so does, once, a NotUniqueError.
   */
  transact<T>(work: Work<T>): Promise<T>;
  /** Runs `work`, one statement that writes, as a transaction of its own that takes no part in the conflicts of others. */
  alone<T>(work: (connection: Connection) => T | Promise<T>): Promise<T>;
  /** Runs `work` in a transaction that no other process's exclusive work runs beside. */
  exclusively<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Whether it can be used now, told within `timeoutMs`; asked once at a time. Errors: UnavailableError, RefusedError. */
  check(timeoutMs: number): Promise<void>;
  /** Closes; no transaction is under way. */
  close(): Promise<void>;
}

/** What runs in a transaction: it counts what it inserts and removes. */
export type Work<T> = (connection: Connection, counters: Counters) => Promise<T>;

/** A Kysely that compiles for a database and knows no way to run anything. */
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
