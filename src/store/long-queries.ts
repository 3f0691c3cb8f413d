/**
 * Queries of calls that may take long. A bounded number runs at once, beside the event loop; the others wait. Those
 * whom calls count against take turns, and among their callers each, so that one who asks for much delays nobody else
 * for longer than one query. Where too many wait, those of whom most wait are refused.
 */
import { FairQueue, waitIn } from "../fairness/index.ts";
import type { Histogram } from "../histogram/index.ts";
import { OverloadError } from "./sql/errors.ts";
import type { StatementObserver } from "./sql/observed-connection.ts";
import type { SqlConnection, Statement, Values } from "./sql/statement.ts";
import { measure } from "./stats.ts";

/** The call that reads. */
export interface ReadingCall {
  /** Whom the call counts against, by name; by default its caller. Accounts take turns, and in each of them callers. */
  readonly account?: string | undefined;
  /** Identifies the caller. */
  readonly caller: string;
  /** Aborted when the call has ended. Its queries are then stopped. Read only when one of them may take long. */
  readonly signal: AbortSignal;
  /** The time that it has left; undefined if it has no deadline. */
  timeoutMs?(): number | undefined;
  /** Lets others have their turns, if the call has had the event loop for long. */
  pause?(): Promise<void> | undefined;
  /** Observes its statements. */
  readonly statements?: StatementObserver | undefined;
}

/** Runs long queries beside the event loop. */
export interface QueryRunner {
  /** How many it runs at once. */
  readonly size: number;
  /** Runs a query. When the call's signal is aborted, the query is stopped and the promise rejects, in either order. */
  rows(statement: Statement, values: Values, call: ReadingCall): Promise<unknown[][]>;
}

/** A connection for long queries. */
export interface LongQueryConnection extends SqlConnection {
  /** A query that reads at most this many rows is not long. */
  readonly fewRows: number;
}

/** How many queries may wait. A list needs two, its rows and its total. */
export const waitingLimits = { ofCaller: 128, inTotal: 2048 };

/** The long queries of a database. */
export class LongQueries {
  readonly #durations: Histogram;
  readonly #runner: QueryRunner;
  readonly #fewRows: number;
  readonly #waiting = new FairQueue<() => void>();
  #running = 0;

  /** @param durations of those that have run, in seconds. */
  constructor(runner: QueryRunner, fewRows: number, durations: Histogram) {
    this.#durations = durations;
    this.#runner = runner;
    this.#fewRows = fewRows;
  }

  /** How many run and wait. */
  get counts(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size };
  }

  /** A connection for the queries of a call. Errors: OverloadError; the reason of the call's signal. */
  connectionFor(call: ReadingCall): LongQueryConnection {
    return {
      fewRows: this.#fewRows,
      rows: (statement, values) => this.#rows(call, statement, values),
      run: refuseToWrite,
      send: refuseToWrite,
    };
  }

  async #rows(call: ReadingCall, statement: Statement, values: Values): Promise<unknown[][]> {
    const { signal, statements } = call;
    signal.throwIfAborted();
    const arrivedMs = performance.now();
    if (this.#running >= this.#runner.size) await this.#turn(call);
    else this.#running++;
    statements?.waited(arrivedMs);
    const sinceMs = performance.now();
    try {
      return await measure(this.#durations, () => this.#runner.rows(statement, values, call));
    } finally {
      statements?.ran(sinceMs, performance.now(), statement);
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next(); // it runs in the place of this one
    }
  }

  /** Waits for a turn of the caller. It is then given the place of one that has run. */
  #turn({ caller, account = caller, signal }: ReadingCall): Promise<void> {
    const payer = { account, caller };
    if (this.#waiting.countOf(payer) >= waitingLimits.ofCaller) throw new OverloadError(true);
    if (!this.#waiting.hasRoom(payer, waitingLimits.inTotal)) throw new OverloadError(false);
    return waitIn(this.#waiting, payer, signal);
  }
}

function refuseToWrite(): never {
  throw new Error("a long query only reads");
}
