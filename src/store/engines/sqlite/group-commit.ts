/**
 * Group commit: the only writer of a SQLite file. Units of work wait in a queue, in which those whom they count against
 * take turns, and run one after another in shared transactions, of up to 64 units or 10 ms, each with one BEGIN
 * IMMEDIATE, one COMMIT and one flush of the disk. COMMIT itself does not wait for the disk. Meanwhile the event loop
 * continues, and with it the units of the next transaction, which commits when this one is on disk. The result of a
 * unit is returned only then, because later units have seen its writes. When the commit fails, all of its units fail.
 *
 * A unit that throws has usually written nothing. If it has, the transaction is rolled back, and its units run again,
 * each in a savepoint. So do the units of the next commits, because such units seldom come alone. Savepoints in every
 * commit would cost each unit a copy of every page that it changes.
 *
 * When a flush fails, it is unknown what a crash would leave of its commit and of later ones. From then on every unit
 * fails, until a restart. A write that fails before that, because the disk is full or read-only, has lost nothing:
 * units fail only while it does.
 *
 * A unit that meets a damaged page fails, and the others of its transaction run again without it: SQLite does not
 * commit after such an error.
 *
 * A timer waits for a lock that another process holds. SQLite's own wait would block the event loop.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { FairQueue, nobody, type WorkPayer } from "../../../fairness/index.ts";
import { type CounterStatements, Counters } from "../../logs/counters.ts";
import { ConflictError, DamagedError, UnavailableError } from "../../sql/errors.ts";
import type { SqlConnection } from "../../sql/statement.ts";
import type { TransactionBody } from "../engine.ts";
import { isBusy, leavesNothing, translated } from "./errors.ts";

const maxUnitsPerCommit = 64;
const maxMsPerCommit = 10;
/** How long units run before others have the event loop. */
const maxSliceMs = 2;
const maxRetryMs = 20;
/** The number of commits with savepoints after one that was rolled back because a unit failed. */
const savepointCommits = 100;

/** A unit of work in the queue. */
interface Unit {
  readonly body: TransactionBody<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Whether it has met damage and failed. */
  hasMetDamage?: boolean;
}

/** The connection that writes. */
export interface WritingConnection extends SqlConnection {
  /** The number of successful statements that may have written something. */
  readonly writes: number;
}

/** What is done for the file around commits. */
export interface CommitHooks {
  /** Whether `pause` must run before the next transaction. */
  needsPause(): boolean;
  /** Runs while there is no transaction and no flush. Never fails. */
  pause(): Promise<void>;
  beforeCommit(): void;
  /** Called when so many units have been committed together. */
  committed(units: number): void;
  /** Called when a transaction cannot begin yet because another process holds the lock. */
  isLocked(): void;
  /** Flushes what has been committed to disk. */
  sync(): Promise<void>;
  /** Called after the flush, before results are returned; or when the commit has failed. Never fails. */
  afterCommit(): void;
}

/** The units that have run in a transaction so far: their counts, and functions that return their results. */
interface Batch {
  readonly counters: Counters;
  readonly replies: (() => void)[];
}

/** Runs units of work on the connection that writes. */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #connection: WritingConnection;
  readonly #statements: CounterStatements;
  readonly #queue = new FairQueue<Unit>();
  readonly #lockTimeoutMs: number;
  readonly #hooks: CommitHooks;
  readonly #savepoint: StatementSync;
  readonly #release: StatementSync;
  #isRunning = false;
  /** How many of the next commits use savepoints. */
  #commitsWithSavepoints = 0;
  /** Resolved when the last commit is on disk and the results of its units are returned. */
  #synced = Promise.resolve();
  #diskFailure: UnavailableError | undefined;
  #refusal: UnavailableError | undefined;

  /** @param lockTimeoutMs how long units wait for a lock of another process before they fail. */
  constructor(
    database: DatabaseSync,
    connection: WritingConnection,
    statements: CounterStatements,
    lockTimeoutMs: number,
    hooks: CommitHooks,
  ) {
    this.#database = database;
    this.#connection = connection;
    this.#statements = statements;
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#hooks = hooks;
    this.#savepoint = database.prepare("savepoint work");
    this.#release = database.prepare("release work");
  }

  /**
   * Queues a unit of work. Errors: ConflictError when the file stays locked; UnavailableError when the disk has failed.
   */
  transact<T>(body: TransactionBody<T>, payer: WorkPayer = nobody): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.add(payer, { body, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Whether a write has failed since this was last reset. */
  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** To be called when a write has succeeded. */
  forgetRefusal(): void {
    this.#refusal = undefined;
  }

  /** Resolves when everything that has been committed is on disk. Errors: UnavailableError when the disk has failed. */
  async durable(): Promise<void> {
    await this.#synced;
    if (this.#diskFailure !== undefined) throw this.#diskFailure;
  }

  #noted(error: unknown): unknown {
    if (error instanceof UnavailableError) this.#refusal = error;
    return error;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (await this.#gather(); this.#queue.size > 0; await this.#gather()) {
      try {
        await this.#begin();
      } catch (error) {
        this.#noted(error);
        while (this.#queue.size > 0) this.#queue.shift()!.reject(error);
        continue;
      }
      await this.#commitOnce();
    }
    this.#isRunning = false;
  }

  /** Waits while each turn of the event loop adds units: calls that arrive together are read over several turns. */
  async #gather(): Promise<void> {
    for (let known = -1; known < this.#queue.size && known < maxUnitsPerCommit; ) {
      known = this.#queue.size;
      await setImmediate();
    }
  }

  async #begin(): Promise<void> {
    if (this.#hooks.needsPause()) {
      await this.#synced;
      await this.#hooks.pause();
    }
    if (this.#diskFailure !== undefined) throw this.#diskFailure;
    const giveUpAt = performance.now() + this.#lockTimeoutMs;
    for (let retryMs = 1; ; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
      try {
        this.#database.exec("begin immediate");
        return;
      } catch (error) {
        if (!isBusy(error)) throw translated(error);
        if (performance.now() > giveUpAt) throw new ConflictError(error, true);
        if (retryMs === 1) this.#hooks.isLocked();
      }
      await setTimeout(retryMs * (0.5 + Math.random()));
    }
  }

  /** Runs units in the transaction that has begun, and ends it. */
  async #commitOnce(): Promise<void> {
    const units: Unit[] = [];
    let batch = this.#newBatch();
    let sliceMs = performance.now();
    const endAt = sliceMs + maxMsPerCommit;
    try {
      while (this.#queue.size > 0 && units.length < maxUnitsPerCommit && performance.now() < endAt) {
        const unit = this.#queue.shift()!;
        units.push(unit);
        const isDone = await this.#runUnit(unit, batch, units.length === 1);
        if (!isDone) batch = await this.#runAgain(units);
        if (performance.now() - sliceMs < maxSliceMs) continue;
        await setImmediate(); // others have the loop meanwhile
        sliceMs = performance.now();
      }
      await batch.counters.write(this.#connection, 0);
      await this.#synced;
      if (this.#diskFailure !== undefined) throw this.#diskFailure;
      this.#commit();
      this.#hooks.committed(units.length);
    } catch (error) {
      this.#noted(error);
      this.#rollBack();
      await this.#synced; // the units have seen the previous commit
      for (const { reject } of units) reject(error);
      return;
    }
    if (this.#commitsWithSavepoints > 0) this.#commitsWithSavepoints--;
    this.#synced = this.#sync(units, batch.replies);
  }

  #commit(): void {
    this.#hooks.beforeCommit();
    try {
      this.#database.exec("commit");
    } catch (error) {
      this.#hooks.afterCommit();
      const failure = translated(error);
      const isUndecided = failure instanceof UnavailableError && !leavesNothing(error);
      throw isUndecided ? new UnavailableError(failure.message, error, true) : failure;
    }
  }

  /** Rolls back, unless the error has done so. Never fails: if the disk fails again, the next BEGIN reports it. */
  #rollBack(): void {
    if (!this.#database.isTransaction) return;
    try {
      this.#database.exec("rollback");
    } catch (error) {
      this.#noted(translated(error));
    }
  }

  async #sync(units: readonly Unit[], replies: readonly (() => void)[]): Promise<void> {
    try {
      await this.#hooks.sync();
    } catch (error) {
      const text = "the disk has failed, so nothing is written until a restart";
      this.#diskFailure = new UnavailableError(text, error);
      this.#noted(this.#diskFailure);
      for (const { reject } of units) reject(new UnavailableError(text, error, true));
      return;
    }
    this.#hooks.afterCommit();
    for (const reply of replies) reply();
  }

  /** Rolls back, and runs the units again, in savepoints, without those that meet damage. */
  async #runAgain(units: readonly Unit[]): Promise<Batch> {
    this.#commitsWithSavepoints = savepointCommits;
    for (;;) {
      this.#rollBack();
      await this.#begin();
      const batch = this.#newBatch();
      let isWhole = true;
      for (const unit of units) if (isWhole && !unit.hasMetDamage) isWhole = await this.#runUnit(unit, batch, false);
      if (isWhole) return batch;
    }
  }

  /**
   * Runs a unit. Returns false when it has thrown and its writes cannot be rolled back alone. Throws only errors that
   * end the whole transaction; the error of the first unit does if that has written.
   */
  async #runUnit(unit: Unit, { counters: shared, replies }: Batch, isFirst: boolean): Promise<boolean> {
    const { body, resolve, reject } = unit;
    const counters = new Counters(this.#statements, shared);
    const hasSavepoint = this.#commitsWithSavepoints > 0;
    const { writes } = this.#connection;
    if (hasSavepoint) this.#savepoint.run();
    try {
      const value = await body(this.#connection, counters, false);
      if (!this.#database.isTransaction) throw new Error("the transaction ended before its work");
      if (hasSavepoint) this.#release.run();
      counters.share();
      replies.push(() => resolve(value));
    } catch (error) {
      this.#noted(error);
      if (error instanceof DamagedError) {
        unit.hasMetDamage = true;
        reject(error);
        return false;
      }
      if (!this.#database.isTransaction) throw error; // a full disk or an I/O error has rolled back everything
      if (hasSavepoint) this.#database.exec("rollback to work; release work");
      else if (this.#connection.writes !== writes) {
        if (isFirst) throw error;
        return false;
      }
      replies.push(() => reject(error));
    }
    return true;
  }

  #newBatch(): Batch {
    return { counters: new Counters(this.#statements), replies: [] };
  }
}
