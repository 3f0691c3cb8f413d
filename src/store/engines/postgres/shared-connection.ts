/** Reads outside transactions. */
import { availableParallelism } from "node:os";
import type pg from "pg";
import type { ReadingCall } from "../../long-queries.ts";
import { ConflictError, StatementTimeoutError } from "../../sql/errors.ts";
import type { SqlConnection, Statement, Values } from "../../sql/statement.ts";
import type { ConnectionLimiter } from "./connection-limiter.ts";
import { endsConnection, translated } from "./errors.ts";
import { Cancellation, type ConnectionPool, stopStatement } from "./pool.ts";
import { gather, send } from "./statements.ts";

/** How many connections are shared: PostgreSQL needs about as many cores as this process. */
export const sharedConnections = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));
/** A statement that those behind it have waited for this long is stopped, and runs again on a connection of its own. */
const maxHeadMs = 100;
const checkMs = 25;
/** For how long a statement that was stopped begins on a connection of its own; less if it answers sooner than this. */
const slowForMs = 10_000;
const fastMs = 50;
/** The session's statement_timeout: no shorter one is sent for a deadline that is later. */
export const sessionTimeoutMs = 30_000;

type Result = pg.QueryArrayResult<unknown[]>;

/** A shared connection. */
interface Shared {
  readonly client: pg.PoolClient;
  /** How many statements have no answer yet. */
  underWay: number;
  /** Since when the first of them has been running. */
  headSinceMs: number;
  isStopping: boolean;
}

/**
 * Runs statements outside transactions. Those of all calls share a few connections, on which many are under way at
 * once, so that neither side is woken for each. One that takes long, as on a locked table, would hold up the others: it
 * is stopped and runs alone, as does the same statement for a while.
 */
export class SharedConnection implements SqlConnection {
  readonly #pool: ConnectionPool;
  readonly #alone: ConnectionLimiter;
  readonly #shared = new Set<Shared>();
  /** The texts of statements that begin alone, and until when. */
  readonly #slow = new Map<string, number>();
  #opening: Promise<Shared> | undefined;
  #check: NodeJS.Timeout | undefined;

  /** @param alone bounds the connections for statements that run alone. */
  constructor(pool: ConnectionPool, alone: ConnectionLimiter) {
    this.#pool = pool;
    this.#alone = alone;
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return (await this.#query(statement, values, undefined)).rows;
  }

  async run(statement: Statement, values: Values): Promise<number> {
    return (await this.#query(statement, values, undefined)).rowCount ?? 0;
  }

  async send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Promise<void> {
    try {
      await this.#query(statement, values, undefined);
    } catch (error) {
      throw failed(error);
    }
  }

  /** The same for the reads of a call, which stop when the call ends. */
  for(call: ReadingCall): SqlConnection {
    return {
      rows: async (statement, values) => (await this.#query(statement, values, call)).rows,
      run: (statement, values) => this.run(statement, values),
      send: (statement, values, failed) => this.send(statement, values, failed),
    };
  }

  async #query(statement: Statement, values: Values, call: ReadingCall | undefined): Promise<Result> {
    if (this.#slow.size > 0 && this.#isSlow(statement)) return this.#runAlone(statement, values, call);
    const shared = this.#leastBusy() ?? (await this.#open());
    if (shared.underWay++ === 0) shared.headSinceMs = performance.now();
    try {
      return await send(this.#pool, shared.client, statement, values);
    } catch (error) {
      if (endsConnection(error)) this.#drop(shared);
      if (error instanceof StatementTimeoutError) this.#slow.set(statement.text, performance.now() + slowForMs);
      else if (!(error instanceof ConflictError)) throw error;
    } finally {
      shared.underWay--;
      shared.headSinceMs = performance.now();
    }
    return this.#runAlone(statement, values, call);
  }

  #isSlow({ text }: Statement): boolean {
    const untilMs = this.#slow.get(text);
    if (untilMs === undefined) return false;
    if (performance.now() < untilMs) return true;
    this.#slow.delete(text);
    return false;
  }

  #runAlone(statement: Statement, values: Values, call: ReadingCall | undefined): Promise<Result> {
    return this.#alone.run(
      async () => {
        const startMs = performance.now();
        const result = await queryAlone(this.#pool, statement, values, call);
        if (performance.now() - startMs < fastMs) this.#slow.delete(statement.text);
        return result;
      },
      call && { account: call.account ?? call.caller, caller: call.caller },
    );
  }

  /** The connection with the fewest statements under way; undefined when another one should be opened. */
  #leastBusy(): Shared | undefined {
    let least: Shared | undefined;
    for (const shared of this.#shared) if (least === undefined || shared.underWay < least.underWay) least = shared;
    const mayOpen = this.#opening === undefined && this.#shared.size < sharedConnections;
    return least !== undefined && least.underWay > 0 && mayOpen ? undefined : least;
  }

  #open(): Promise<Shared> {
    this.#check ??= setInterval(() => this.#stopHeads(), checkMs).unref();
    this.#opening ??= this.#pool
      .take()
      .then((client) => {
        const shared = { client, underWay: 0, headSinceMs: 0, isStopping: false };
        this.#shared.add(shared);
        client.once("end", () => this.#drop(shared));
        return shared;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    return this.#opening;
  }

  /** Stops the statements that hold up others. The next one may be hit instead, if the first has just ended. */
  #stopHeads(): void {
    const nowMs = performance.now();
    for (const shared of this.#shared) {
      if (shared.underWay === 0 || shared.isStopping || nowMs - shared.headSinceMs < maxHeadMs) continue;
      shared.isStopping = true;
      void stopStatement(shared.client).finally(() => {
        shared.isStopping = false;
      });
    }
  }

  #drop(shared: Shared): void {
    if (this.#shared.delete(shared)) shared.client.release(true);
  }

  /** Gives the connections back. */
  close(): void {
    clearInterval(this.#check);
    for (const { client } of this.#shared) client.release();
    this.#shared.clear();
  }
}

/** Runs a statement on a connection of its own, until its call ends. */
export async function queryAlone(
  pool: ConnectionPool,
  statement: Statement,
  values: Values,
  call: ReadingCall | undefined,
): Promise<Result> {
  call?.signal.throwIfAborted();
  const client = await pool.take();
  const cancellation = call && new Cancellation(client, call.signal);
  let isBroken = false;
  try {
    return await sendInTime(pool, client, statement, values, call?.timeoutMs?.());
  } catch (error) {
    isBroken = endsConnection(error);
    call?.signal.throwIfAborted();
    throw error;
  } finally {
    await cancellation?.end();
    client.release(isBroken);
  }
}

/** Sends a statement that the server stops after `timeoutMs`, even when this process cannot ask it to. */
async function sendInTime(
  pool: ConnectionPool,
  client: pg.PoolClient,
  statement: Statement,
  values: Values,
  timeoutMs = sessionTimeoutMs,
): Promise<Result> {
  if (timeoutMs >= sessionTimeoutMs) return send(pool, client, statement, values);
  gather(client);
  const begun = client.query(`begin read only; ${timeoutOf(timeoutMs)}`);
  const result = send(pool, client, statement, values);
  const [, outcome] = await Promise.allSettled([begun, result, client.query("commit")]);
  if (outcome.status === "rejected") throw translated(outcome.reason);
  return outcome.value;
}

/** The statement that limits the statements of a transaction. Zero would be no limit. */
export function timeoutOf(timeoutMs: number): string {
  return `set local statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`;
}
