/**
 * What differs between databases. A dialect file holds exactly: opening, running a compiled statement, column types, conflict codes,
 * counter slots, transactions, and the few expressions below. All else is one text for every database.
 */
import { type DialectAdapter, DummyDriver, type Expression, Kysely, type QueryCompiler, type RawBuilder } from "kysely";
import type { Counters } from "../counters.ts";
import type { FacetType } from "../row.ts";
import type { Connection } from "../statement.ts";

/** Tables and columns are known by name only: the schema is in the migrations and in each table's spec. */
// biome-ignore lint/suspicious/noExplicitAny: Kysely's own way to say that the schema is not typed
export type QueryBuilder = Kysely<any>;

/** The expressions in which databases differ. */
export interface Dialect {
  readonly name: string;
  /** Builds and compiles; never runs anything. */
  readonly query: QueryBuilder;
  readonly types: {
    readonly text: RawBuilder<unknown>;
    readonly integer: RawBuilder<unknown>;
    readonly bytes: RawBuilder<unknown>;
  };
  /** The column's value, for comparisons and orders that must not use an index. */
  plain(column: Expression<unknown>, type: FacetType): RawBuilder<unknown>;
  /** A FROM item `r` with a column `value`: the elements of a JSON array. */
  elements(json: Expression<unknown>): RawBuilder<unknown>;
  /** A FROM item `r` with a column `value`: the elements of a JSON array of strings, as text. */
  texts(json: Expression<unknown>): RawBuilder<unknown>;
  /** Whether a column is among the elements of a JSON array of its type. */
  isIn(column: Expression<unknown>, type: FacetType, json: Expression<unknown>): RawBuilder<boolean>;
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
  /** Whether other transactions run at the same time, so that a row met by the unique index may be one the work could not yet see. */
  readonly isConcurrent: boolean;
  /**
   * Runs `work` in a transaction and gives its result once that is durable. Nothing it did stays when it throws. A ConflictError makes it
   * run again where that can help; so does, once, a NotUniqueError.
   */
  transact<T>(work: Work<T>): Promise<T>;
  /** Runs `work` in a transaction that no other process's exclusive work runs beside. */
  exclusively<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
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
