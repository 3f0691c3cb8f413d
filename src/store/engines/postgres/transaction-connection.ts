/** Transactions. */
import type pg from "pg";
import { UnavailableError } from "../../sql/errors.ts";
import type { SqlConnection, Statement, Values } from "../../sql/statement.ts";
import type { TransactingCall } from "../engine.ts";
import { translated } from "./errors.ts";
import { Cancellation, type ConnectionPool } from "./pool.ts";
import { sessionTimeoutMs, timeoutOf } from "./shared-connection.ts";
import { gather, send } from "./statements.ts";

/** A transaction that lasts longer is stopped when its call ends. Fewer are not worth listening for. */
const longMs = 100;

/**
 * Runs the statements of one transaction. Those whose result nobody needs are sent without waiting for it. `BEGIN` is
 * sent with the first statement, if that one reads: nothing is written before the transaction is known to have begun.
 */
export class TransactionConnection implements SqlConnection {
  readonly #client: pg.PoolClient;
  readonly #pool: ConnectionPool;
  readonly #begun: Promise<unknown>;
  #hasBegun = false;
  readonly #sent: Promise<void>[] = [];
  #failure: { readonly error: unknown } | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #cancellation: Cancellation | undefined;

  /** @param begin the statement that begins it. */
  constructor(client: pg.PoolClient, pool: ConnectionPool, begin: string, call: TransactingCall | undefined) {
    this.#client = client;
    this.#pool = pool;
    const timeoutMs = call?.timeoutMs() ?? sessionTimeoutMs;
    gather(client);
    this.#begun = client.query(timeoutMs < sessionTimeoutMs ? `${begin}; ${timeoutOf(timeoutMs)}` : begin).then(
      () => {
        this.#hasBegun = true;
      },
      (error) => {
        this.#failure ??= { error: translated(error) };
      },
    );
    if (call === undefined) return;
    this.#timer = setTimeout(() => {
      this.#cancellation = new Cancellation(client, call.signal);
    }, longMs);
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return (await this.#query(statement, values)).rows;
  }

  async run(statement: Statement, values: Values): Promise<number> {
    return (await this.#query(statement, values)).rowCount ?? 0;
  }

  async #query(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    if (!this.#hasBegun && !statement.text.startsWith("select ")) await this.#begun;
    this.#throwFailure();
    try {
      const result = await send(this.#pool, this.#client, statement, values);
      this.#throwFailure(); // what was sent before it has been answered
      return result;
    } catch (error) {
      this.#throwFailure(); // the reason why the server refuses further statements
      throw error;
    }
  }

  async send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Promise<void> {
    if (!this.#hasBegun) await this.#begun;
    this.#throwFailure();
    const sent = send(this.#pool, this.#client, statement, values).then(
      () => {},
      (error) => {
        this.#failure ??= { error: failed(error) };
      },
    );
    this.#sent.push(sent);
  }

  /**
   * Commits. Errors: those of statements that were sent: the server then has rolled back; an UnavailableError with
   * `isUndecided` when it is not known whether the server has committed.
   */
  async commit(): Promise<void> {
    gather(this.#client);
    let warning: string | undefined;
    const onNotice = ({ message }: { readonly message?: string | undefined }) => {
      warning = message ?? "a notice";
    };
    this.#client.on("notice", onNotice);
    const committed = this.#client.query("commit");
    const [outcome] = await Promise.allSettled([committed, this.#begun, ...this.#sent]);
    this.#client.off("notice", onNotice);
    if (outcome.status === "rejected") {
      const error = translated(outcome.reason);
      if (error instanceof UnavailableError) this.#failure = undecided(`its answer is lost: ${error.message}`, error);
      else this.#failure ??= { error };
    } else if (outcome.value.command !== "COMMIT") {
      this.#failure ??= { error: new Error(`COMMIT of a failed transaction: ${outcome.value.command}`) };
    } else if (warning !== undefined) {
      // PostgreSQL warns when it is stopped while it waits for a synchronous standby, which may never get the
      // transaction.
      this.#failure ??= undecided(warning, undefined);
    }
    this.#throwFailure();
  }

  /** Waits until everything that was sent has been answered. Returns its first error, or `error` if there is none. */
  async settle(error: unknown): Promise<unknown> {
    await Promise.all([this.#begun, ...this.#sent]);
    await this.end();
    return this.#failure === undefined ? error : this.#failure.error;
  }

  async rollback(): Promise<void> {
    await this.#client.query("rollback");
  }

  /** Stops listening to the call. To be called before the connection does anything else. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#cancellation?.end();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

function undecided(reason: string, cause: unknown): { readonly error: unknown } {
  return { error: new UnavailableError(`a COMMIT may have failed: ${reason}`, cause, true) };
}
