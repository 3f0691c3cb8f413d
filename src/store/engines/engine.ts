/** The interface of a database engine. */

import type { WorkPayer } from "../../fairness/index.ts";
import type { Counters } from "../logs/counters.ts";
import type { QueryRunner, ReadingCall } from "../long-queries.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { StatementObserver } from "../sql/observed-connection.ts";
import type { SqlConnection } from "../sql/statement.ts";
import type { DatabaseStats } from "../stats.ts";

/** An open database, as the store uses it. */
export interface Engine {
  readonly dialect: Dialect;
  readonly stats: DatabaseStats;
  /** Reads outside transactions. */
  readonly reader: SqlConnection;
  /**
   * The same for a call: what takes long stops when the call ends. Absent where nothing but `longQueries` takes long.
   */
  readerFor?(call: ReadingCall): SqlConnection;
  /** Runs queries that may take long. Absent where they run on `reader`. */
  readonly longQueries?: QueryRunner | undefined;
  /** A number that changes whenever any process may have committed. Absent where only the server knows. */
  readonly commits?: () => number;
  /** Makes the next read see everything that all processes have committed by now. Absent where every read does. */
  refresh?(): void;
  /**
   * Whether transactions run concurrently, so that a unique violation may be caused by a row that the transaction could
   * not see.
   */
  readonly isConcurrent: boolean;
  /**
   * Runs `body` in a transaction and returns its result once the transaction is durable. Rolls back when it throws. A
   * concurrent engine runs it again after a ConflictError, and once after a NotUniqueError.
   */
  transact<T>(body: TransactionBody<T>, options: TransactOptions): Promise<T>;
  /** Runs `body`, a single writing statement, as its own transaction. It does not conflict with other transactions. */
  autocommit<T>(body: (connection: SqlConnection) => T | Promise<T>): Promise<T>;
  /**
   * Runs `body` in a transaction that excludes the exclusive transactions of other processes, for which it waits.
   * `lockWaitMs`: how long its statements wait for locks of others where they can work meanwhile; by default for ever.
   */
  exclusively<T>(
    body: (connection: SqlConnection) => Promise<T>,
    options?: { readonly lockWaitMs?: number },
  ): Promise<T>;
  /**
   * Builds an index while others write its table: `create` is the statement. Does nothing if it exists, and builds it
   * again if a process was killed meanwhile. Absent where it cannot be built so.
   */
  buildIndex?(table: string, name: string, create: string): Promise<void>;
  /**
   * Distributes the tables of tenants among the workers of a cluster, and returns how many were not. Absent where there
   * is no such cluster. Errors: RefusedError.
   */
  distribute?(tables: readonly string[]): Promise<number>;
  /** Runs `body`, whose reads all see the same state, however long it takes. */
  snapshot<T>(body: (connection: SqlConnection) => Promise<T>): Promise<T>;
  /** Reads the whole database file and reports what is damaged. Absent where the server keeps the files. */
  findDamage?(): Promise<readonly string[]>;
  /**
   * Checks within `timeoutMs` that the database can be used. One check at a time. Errors: UnavailableError,
   * RefusedError.
   */
  check(timeoutMs: number): Promise<void>;
  /** Closes the database. No transaction may be running. */
  close(): Promise<void>;
}

/**
 * What runs in a transaction. It counts in `counters` what it inserts and removes. `mayCollide`: whether it runs again
 * after a NotUniqueError.
 */
export type TransactionBody<T> = (connection: SqlConnection, counters: Counters, mayCollide: boolean) => Promise<T>;

/** How to run a transaction. */
export interface TransactOptions {
  /** Whom it counts against: transactions that wait take turns by account, then by caller. */
  readonly payer?: WorkPayer | undefined;
  /** Where a statement may wait for long, it stops when the call ends. */
  readonly call?: TransactingCall | undefined;
  /**
   * Whether it is isolated from all other transactions that are serializable. By default it sees what others commit
   * while it runs, and relies on what it locks: rows that it holds, changes or removes. It never relies on the absence
   * of rows, except those that would break a unique index.
   */
  readonly isSerializable?: boolean;
  /**
   * The organisation of a transaction that, most likely, does nothing but read, hold and add rows. Those with the same
   * value may be committed together.
   */
  readonly commitsWith?: string | undefined;
  /** Whether the limits of rows do not hold, because the operator writes. */
  readonly isUnlimited?: boolean;
}

/** The call that a transaction serves. */
export interface TransactingCall {
  /** Throws when the call has ended. */
  throwIfAborted(): void;
  /** Aborted when the call has ended. Read only by a transaction that takes long. */
  readonly signal: AbortSignal;
  /** The time that it has left; undefined if it has no deadline. */
  timeoutMs(): number | undefined;
  /** Observes the statements of its session. */
  readonly statements?: StatementObserver | undefined;
}

/** How to open PostgreSQL. */
export interface PostgresPoolOptions {
  /** The most connections of this process. */
  readonly connections: number;
  /** The most transactions that wait for a connection, and the longest that one waits. */
  readonly maxWaiting: number;
  readonly waitMs: number;
  /** Whether statements stay prepared between transactions; `auto`: unless a pooler stands before the server. */
  readonly preparedStatements: "auto" | "on" | "off";
}
