/**
 * Group commit: transactions of one organisation that only hold rows and add others commit together, those that arrive
 * while one is under way in the next. Their inserts are merged into a few statements of several rows. Such transactions
 * exclude nobody but who removes what they hold, so it makes no difference that they do not exclude each other.
 *
 * When anything in it fails, or waits longer for a lock than `lockWaitMs`, each of them runs alone, and so do those of
 * the organisation for a while: no organisation can hold up another, and failures seldom come alone.
 */
import { type CounterStatements, Counters } from "../../logs/counters.ts";
import { OverloadError, UnavailableError } from "../../sql/errors.ts";
import type { SqlConnection } from "../../sql/statement.ts";
import type { TransactingCall, TransactionBody } from "../engine.ts";
import { NotShareable, SharedStatements, UnitConnection } from "./shared-statements.ts";

const maxUnits = 64;
/** How many transactions of an organisation are under way at once: while one commits, the next does its work. */
const maxRunning = 2;
const lockWaitMs = 100;
const aloneForMs = 1000;

/** The statement that begins a shared transaction. */
export const beginShared = `begin isolation level read committed; set local lock_timeout = ${lockWaitMs}`;

/** A transaction that waits to be committed with others. */
interface Unit {
  readonly body: TransactionBody<unknown>;
  readonly call: TransactingCall | undefined;
  /** Runs it in a transaction of its own. */
  readonly alone: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The transactions of one organisation. */
interface Group {
  readonly waiting: Unit[];
  running: number;
  aloneUntilMs: number;
}

/** Runs `body` in a shared transaction and returns once it is durable. Errors: those of any transaction. */
export type RunShared = (
  call: TransactingCall | undefined,
  body: (connection: SqlConnection, counters: Counters) => Promise<void>,
) => Promise<void>;

/** Groups transactions. */
export class GroupCommit {
  readonly #statements: CounterStatements;
  readonly #maxWaiting: number;
  readonly #runShared: RunShared;
  readonly #groups = new Map<string, Group>();

  /** @param maxWaiting the most transactions of an organisation that wait for those under way. */
  constructor(statements: CounterStatements, maxWaiting: number, runShared: RunShared) {
    this.#statements = statements;
    this.#maxWaiting = maxWaiting;
    this.#runShared = runShared;
  }

  /**
   * Runs a transaction of the organisation `key`, by `alone` if there is none to share with. Errors, in addition to
   * theirs: OverloadError.
   */
  async transact<T>(
    key: string,
    body: TransactionBody<T>,
    call: TransactingCall | undefined,
    alone: () => Promise<T>,
  ): Promise<T> {
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { waiting: [], running: 0, aloneUntilMs: 0 };
      this.#groups.set(key, group);
    }
    if (performance.now() < group.aloneUntilMs) return alone();
    if (group.waiting.length >= this.#maxWaiting) throw new OverloadError(false);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    group.waiting.push({ body, call, alone, resolve: resolve as (value: unknown) => void, reject });
    // The others of this iteration of the event loop go with it.
    if (group.running + group.waiting.length <= maxRunning) setImmediate(() => this.#start(key, group));
    return promise;
  }

  #start(key: string, group: Group): void {
    const units = group.waiting.splice(0, maxUnits);
    if (units.length === 0) return;
    group.running++;
    const run = units.length === 1 ? settle(units[0]!, units[0]!.alone) : this.#runTogether(units, group);
    void run.then(() => {
      group.running--;
      this.#start(key, group);
      if (group.running === 0) this.#forget(key, group);
    });
  }

  /** Forgets a group that nothing waits in, once it may share transactions again. */
  #forget(key: string, group: Group): void {
    const leftMs = group.aloneUntilMs - performance.now();
    if (leftMs > 0) setTimeout(() => this.#forget(key, group), leftMs).unref();
    else if (group.running === 0 && group.waiting.length === 0 && this.#groups.get(key) === group)
      this.#groups.delete(key);
  }

  async #runTogether(units: readonly Unit[], group: Group): Promise<void> {
    let outcomes: readonly PromiseSettledResult<unknown>[] = [];
    try {
      await this.#runShared(earliest(units), async (connection, counters) => {
        const statements = new SharedStatements(connection);
        outcomes = await Promise.allSettled(units.map(({ body }) => this.#runUnit(body, statements, counters)));
        await statements.finish();
      });
    } catch (error) {
      if (error instanceof UnavailableError || error instanceof OverloadError) {
        for (const { reject } of units) reject(error);
        return;
      }
      group.aloneUntilMs = performance.now() + aloneForMs;
      await Promise.all(units.map((unit) => settle(unit, unit.alone)));
      return;
    }
    const settled = units.map((unit, i) => {
      const outcome = outcomes[i]!;
      if (outcome.status === "fulfilled") return unit.resolve(outcome.value);
      return outcome.reason instanceof NotShareable ? settle(unit, unit.alone) : unit.reject(outcome.reason);
    });
    await Promise.all(settled);
  }

  /** Errors: that of the unit. If it has written something, the transaction fails. */
  async #runUnit(body: TransactionBody<unknown>, statements: SharedStatements, shared: Counters): Promise<unknown> {
    const counters = new Counters(this.#statements, shared);
    const connection = new UnitConnection(statements);
    try {
      const value = await body(connection, counters, true);
      counters.share();
      return value;
    } catch (error) {
      if (connection.hasWritten) statements.fail(error);
      throw error;
    }
  }
}

/** The call that a shared transaction serves: it has the time of the one that ends first. */
function earliest(units: readonly Unit[]): TransactingCall | undefined {
  const times = units.map(({ call }) => call?.timeoutMs()).filter((timeMs) => timeMs !== undefined);
  if (times.length === 0) return undefined;
  const timeoutMs = Math.max(1, Math.min(...times));
  const signal = AbortSignal.timeout(timeoutMs);
  return { signal, throwIfAborted: () => signal.throwIfAborted(), timeoutMs: () => timeoutMs };
}

async function settle({ resolve, reject }: Unit, run: () => Promise<unknown>): Promise<void> {
  await run().then(resolve, reject);
}
