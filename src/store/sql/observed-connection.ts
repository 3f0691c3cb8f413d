/** Measures the statements of a call. */
import type { Awaitable } from "../../awaitable.ts";
import type { Histogram } from "../../histogram/index.ts";
import type { SqlConnection, Statement, Values } from "./statement.ts";

/** Observes the statements of a call. Times are those of `performance.now()`. */
export interface StatementObserver {
  /** A statement has ended. One whose result nobody needs ends when it is sent. */
  ran(sinceMs: number, endedMs: number, statement: Statement): void;
  /** A statement has waited for its turn since `sinceMs`, and begins now. */
  waited(sinceMs: number): void;
}

/**
 * A connection that reports to an observer each statement that has ended, whether or not it has failed, and records how
 * long queries took, in seconds, unless they threw at once.
 */
export class ObservedConnection implements SqlConnection {
  readonly #connection: SqlConnection;
  readonly #observer: StatementObserver | undefined;
  readonly #queries: Histogram | undefined;

  constructor(connection: SqlConnection, observer: StatementObserver | undefined, queries: Histogram | undefined) {
    this.#connection = connection;
    this.#observer = observer;
    this.#queries = queries;
  }

  rows(statement: Statement, values: Values): Awaitable<unknown[][]> {
    return this.#observed(statement, () => this.#connection.rows(statement, values), this.#queries);
  }

  run(statement: Statement, values: Values): Awaitable<number> {
    return this.#observed(statement, () => this.#connection.run(statement, values));
  }

  send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Awaitable<void> {
    return this.#observed(statement, () => this.#connection.send(statement, values, failed));
  }

  #observed<T>(statement: Statement, run: () => Awaitable<T>, durations?: Histogram): Awaitable<T> {
    const sinceMs = performance.now();
    let result: Awaitable<T> | undefined;
    try {
      result = run();
    } finally {
      if (!(result instanceof Promise)) this.#end(sinceMs, statement, result === undefined ? undefined : durations);
    }
    return result instanceof Promise ? result.finally(() => this.#end(sinceMs, statement, durations)) : result;
  }

  #end(sinceMs: number, statement: Statement, durations: Histogram | undefined): void {
    const endedMs = performance.now();
    this.#observer?.ran(sinceMs, endedMs, statement);
    durations?.record((endedMs - sinceMs) / 1000);
  }
}

/** The connection, observed if there is an observer or a histogram for its queries. */
export function observed(
  connection: SqlConnection,
  observer: StatementObserver | undefined,
  queries?: Histogram,
): SqlConnection {
  if (observer === undefined && queries === undefined) return connection;
  return new ObservedConnection(connection, observer, queries);
}
