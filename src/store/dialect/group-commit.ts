/**
 * The one writer of a SQLite file. Works wait in a queue and run one after another in shared transactions: one BEGIN IMMEDIATE, one COMMIT and
 * one wait for the disk for up to 64 works or 10 ms. COMMIT itself does not wait for the disk; the event loop goes on meanwhile, with the works
 * of the next transaction too, which commits when this one is on disk. What a work gives or throws is told only then, because the works after
 * it have seen what it did. When the commit fails, all fail.
 *
 * A work that throws has mostly written nothing. Where it has, all is taken back, and the works run again, each in a savepoint of its own; so do
 * those of the next commits, because such works seldom come alone. Always to have savepoints would cost every work a copy of each page it changes.
 *
 * When the disk fails while it is waited for, nobody knows what of the commit a crash would leave, or of any after it: from then on every work fails,
 * until a restart. A disk that refuses to be written before that, because it is full or read-only, has lost nothing: works fail while it does.
 *
 * A lock held by another process is waited for by a timer, never inside SQLite, whose own wait would stop the event loop.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { type CounterStatements, Counters } from "../counters.ts";
import { ConflictError, UnavailableError } from "../errors.ts";
import type { Connection } from "../statement.ts";
import type { Work } from "./dialect.ts";
import { isBusy, leavesNothing, translated } from "./sqlite-errors.ts";

const maxWorksPerCommit = 64;
const maxMsPerCommit = 10;
const maxRetryMs = 20;
/** Commits with savepoints after one in which a work had to be taken back. */
const carefulCommits = 100;

interface Job {
  readonly work: Work<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The connection that writes. */
export interface WritingConnection extends Connection {
  /** How many statements have succeeded on it that may have written something. */
  readonly writes: number;
}

/** What else is done for the file. */
export interface CommitHooks {
  /** Whether something waits that no transaction may run beside. */
  needsPause(): boolean;
  /** Does it; never fails. Nothing is on its way to disk. */
  pause(): Promise<void>;
  beforeCommit(): void;
  /** Brings what has been committed to disk. */
  sync(): Promise<void>;
  /** When it is there, before the works are told; or when the commit has failed. Never fails. */
  afterCommit(): void;
}

/** Tells a work how it went. */
type Answer = () => void;

/** The works that have run in a transaction so far: what they have counted, and their answers. */
interface Ran {
  readonly counters: Counters;
  readonly answers: Answer[];
}

/** Runs works on the connection that writes. */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #connection: WritingConnection;
  readonly #statements: CounterStatements;
  readonly #queue: Job[] = [];
  readonly #patienceMs: number;
  readonly #hooks: CommitHooks;
  readonly #savepoint: StatementSync;
  readonly #release: StatementSync;
  #isRunning = false;
  /** So many more commits have savepoints. */
  #careful = 0;
  /** Settled when the last commit is on disk and its works are told. */
  #synced = Promise.resolve();
  #diskFailure: UnavailableError | undefined;
  #refusal: UnavailableError | undefined;

  /** @param patienceMs a lock held longer than this by another process fails the works that wait for it. */
  constructor(
    database: DatabaseSync,
    connection: WritingConnection,
    statements: CounterStatements,
    patienceMs: number,
    hooks: CommitHooks,
  ) {
    this.#database = database;
    this.#connection = connection;
    this.#statements = statements;
    this.#patienceMs = patienceMs;
    this.#hooks = hooks;
    this.#savepoint = database.prepare("savepoint work");
    this.#release = database.prepare("release work");
  }

  /** Queues a work. Errors: ConflictError when the file stays locked; when the disk has failed. */
  transact<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Whether the disk has refused a work since this was last forgotten. */
  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** To be called when the disk has taken a work. */
  forgetRefusal(): void {
    this.#refusal = undefined;
  }

  #noted(error: unknown): unknown {
    if (error instanceof UnavailableError) this.#refusal = error;
    return error;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (await this.#gather(); this.#queue.length > 0; await this.#gather()) {
      try {
        await this.#begin();
      } catch (error) {
        this.#noted(error);
        for (const job of this.#queue.splice(0)) job.reject(error);
        continue;
      }
      await this.#commitOnce();
    }
    this.#isRunning = false;
  }

  /** Waits while every turn of the event loop brings more works: calls that arrive together are heard over several turns. */
  async #gather(): Promise<void> {
    for (let known = -1; known < this.#queue.length && known < maxWorksPerCommit; ) {
      known = this.#queue.length;
      await setImmediate();
    }
  }

  async #begin(): Promise<void> {
    if (this.#hooks.needsPause()) {
      await this.#synced;
      await this.#hooks.pause();
    }
    if (this.#diskFailure !== undefined) throw this.#diskFailure;
    const giveUpAt = performance.now() + this.#patienceMs;
    for (let retryMs = 1; ; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
      try {
        this.#database.exec("begin immediate");
        return;
      } catch (error) {
        if (!isBusy(error)) throw translated(error);
        if (performance.now() > giveUpAt) throw new ConflictError(error);
      }
      await setTimeout(retryMs * (0.5 + Math.random()));
    }
  }

  /** Runs works in the transaction that has begun, and ends it. */
  async #commitOnce(): Promise<void> {
    const jobs: Job[] = [];
    let ran = this.#noneYet();
    const endAt = performance.now() + maxMsPerCommit;
    try {
      while (this.#queue.length > 0 && jobs.length < maxWorksPerCommit && performance.now() < endAt) {
        const job = this.#queue.shift()!;
        jobs.push(job);
        const isDone = await this.#runWork(job, ran, jobs.length === 1);
        if (!isDone) ran = await this.#runAgain(jobs);
      }
      await ran.counters.write(this.#connection, 0);
      await this.#synced;
      if (this.#diskFailure !== undefined) throw this.#diskFailure;
      this.#commit();
    } catch (error) {
      this.#noted(error);
      this.#rollBack();
      await this.#synced; // what they have seen
      for (const { reject } of jobs) reject(error);
      return;
    }
    if (this.#careful > 0) this.#careful--;
    this.#synced = this.#sync(jobs, ran.answers);
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

  /** Ends the transaction, if what went wrong has not. Never fails: where a disk refuses this too, the next BEGIN tells. */
  #rollBack(): void {
    if (!this.#database.isTransaction) return;
    try {
      this.#database.exec("rollback");
    } catch (error) {
      this.#noted(translated(error));
    }
  }

  async #sync(jobs: readonly Job[], answers: readonly Answer[]): Promise<void> {
    try {
      await this.#hooks.sync();
    } catch (error) {
      const text = "the disk has failed, so nothing is written until a restart";
      this.#diskFailure = new UnavailableError(text, error);
      this.#noted(this.#diskFailure);
      for (const { reject } of jobs) reject(new UnavailableError(text, error, true));
      return;
    }
    this.#hooks.afterCommit();
    for (const answer of answers) answer();
  }

  /** Takes everything back, and runs the works again. */
  async #runAgain(jobs: readonly Job[]): Promise<Ran> {
    this.#careful = carefulCommits;
    this.#rollBack();
    await this.#begin();
    const ran = this.#noneYet();
    for (const job of jobs) await this.#runWork(job, ran, false);
    return ran;
  }

  /**
   * Runs a work; false when it has thrown and what it wrote cannot be taken back alone. Throws only what ends the whole transaction, as the error of
   * a work does that is alone in it.
   */
  async #runWork(
    { work, resolve, reject }: Job,
    { counters: shared, answers }: Ran,
    isFirst: boolean,
  ): Promise<boolean> {
    const counters = new Counters(this.#statements, shared);
    const hasSavepoint = this.#careful > 0;
    const { writes } = this.#connection;
    if (hasSavepoint) this.#savepoint.run();
    try {
      const value = await work(this.#connection, counters);
      if (!this.#database.isTransaction) throw new Error("the transaction ended before its work");
      if (hasSavepoint) this.#release.run();
      counters.share();
      answers.push(() => resolve(value));
    } catch (error) {
      this.#noted(error);
      if (!this.#database.isTransaction) throw error; // a full disk or an I/O error has rolled back everything
      if (hasSavepoint) this.#database.exec("rollback to work; release work");
      else if (this.#connection.writes !== writes) {
        if (isFirst) throw error;
        return false;
      }
      answers.push(() => reject(error));
    }
    return true;
  }

  #noneYet(): Ran {
    return { counters: new Counters(this.#statements), answers: [] };
  }
}
