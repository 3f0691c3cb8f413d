/**
 * Writes items in short transactions, so that other writers are hardly delayed. A batch holds the write lock of the
 * database for at most 50 ms, including the commit, unless a single item takes longer, or what follows from the batch.
 * After a batch comes a pause of the same length, in which the next items are read and parsed. Half of the time is left
 * to other writers.
 *
 * If an item is refused, its batch is rolled back and written again without it.
 */
import { setTimeout } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ConflictError, type Database, type WriteSession } from "../../store/index.ts";
import { FeedRefusal } from "../source/refusal.ts";

/** Options of {@link Batches}. */
interface BatchOptions {
  readonly database: Database;
  /** A monotonic clock in milliseconds. */
  readonly clock?: () => number;
  readonly pause?: (ms: number) => Promise<unknown>;
}

const maxLockMs = 50;
const firstCapacity = 50;
const maxCapacity = 5000;
/** An item is merged with what other feeds have imported, which their imports may be changing. */
const serializable = { isSerializable: true };
const maxConflicts = 20;

/**
 * What follows from a batch costs nearly the same for few items as for many: a batch may be written for as long as that
 * took the last time, up to this.
 */
const maxAmortizedMs = 250;

/** Writes batches to a database, one after another. */
export class Batches {
  readonly #database: Database;
  readonly #clock: () => number;
  readonly #pause: (ms: number) => Promise<unknown>;
  #commitMs = 5;
  #finishMs = 0;
  #pauseUntilMs = 0;
  /** Estimated number of items in a full batch. */
  #capacity = firstCapacity;

  constructor({ database, clock = () => performance.now(), pause = (ms) => setTimeout(ms) }: BatchOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#pause = pause;
  }

  /** Whether to write now: the items fill a batch and the pause is over, or the items fill two batches. */
  isDue(ready: number): boolean {
    return ready >= 2 * this.#capacity || (ready >= this.#capacity && this.#clock() >= this.#pauseUntilMs);
  }

  /**
   * Waits for the end of the pause, then writes one batch of the items, from the first on, at least one. Returns their
   * results in order; the result of an invalid item is its refusal. Errors: ConflictError after too many conflicts;
   * errors of `write` other than INVALID_ARGUMENT and FeedRefusal.
   * @param finish what follows from the items of a batch, in its transaction. Its time counts like that of the commit.
   */
  async write<T, R>(
    items: readonly T[],
    write: (session: WriteSession, item: T) => Promise<R>,
    finish: (session: WriteSession) => Promise<void> = async () => {},
  ): Promise<readonly (R | FeedRefusal)[]> {
    for (let limit = items.length; ; ) {
      const outcome = await this.#writeOnce(items.slice(0, limit), write, finish);
      if (!(outcome instanceof ItemRefused)) return outcome;
      if (outcome.index === 0) return [outcome.refusal];
      limit = outcome.index; // those before it are valid
    }
  }

  /** Waits for the end of the pause, then runs one transaction. */
  async transact<R>(
    body: (session: WriteSession, startMs: number) => Promise<R>,
    finish: (session: WriteSession) => Promise<void> = async () => {},
  ): Promise<R> {
    for (let conflicts = 0; ; conflicts++) {
      const waitMs = this.#pauseUntilMs - this.#clock();
      if (waitMs > 0) await this.#pause(waitMs);
      let startMs = this.#clock();
      let endMs = startMs;
      try {
        const result = await this.#database.transact(async (session) => {
          startMs = this.#clock();
          const value = await body(session, startMs);
          endMs = this.#clock();
          await finish(session);
          this.#finishMs = this.#clock() - endMs;
          return value;
        }, serializable);
        this.#commitMs = this.#clock() - endMs;
        return result;
      } catch (error) {
        if (!(error instanceof ConflictError) || conflicts === maxConflicts) throw error;
      } finally {
        const nowMs = this.#clock();
        this.#pauseUntilMs = nowMs + (nowMs - startMs);
      }
    }
  }

  async #writeOnce<T, R>(
    items: readonly T[],
    write: (session: WriteSession, item: T) => Promise<R>,
    finish: (session: WriteSession) => Promise<void>,
  ): Promise<R[] | ItemRefused> {
    const amortizedMs = Math.min(this.#finishMs, maxAmortizedMs);
    const budgetMs = Math.max(maxLockMs / 4, maxLockMs - this.#commitMs, amortizedMs);
    let spentMs = 0;
    try {
      const results = await this.transact(async (session, startMs) => {
        const done: R[] = [];
        for (const [index, item] of items.entries()) {
          spentMs = this.#clock() - startMs;
          if (index > 0 && spentMs + spentMs / index > budgetMs) break;
          done.push(
            await write(session, item).catch((error: unknown) => {
              throw refusalOf(error, index);
            }),
          );
        }
        return done;
      }, finish);
      const isCut = results.length < items.length;
      const filling = isCut ? results.length : (results.length * budgetMs) / Math.max(1, spentMs);
      this.#capacity = Math.min(maxCapacity, Math.max(1, Math.ceil(filling)));
      return results;
    } catch (error) {
      if (error instanceof ItemRefused) return error;
      throw error;
    }
  }
}

/** Rolls back a batch because one of its items is refused. */
class ItemRefused extends Error {
  readonly index: number;
  readonly refusal: FeedRefusal;

  constructor(index: number, refusal: FeedRefusal) {
    super(refusal.message, { cause: refusal });
    this.index = index;
    this.refusal = refusal;
  }
}

function refusalOf(error: unknown, index: number): unknown {
  if (error instanceof FeedRefusal) return new ItemRefused(index, error);
  if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument) return error;
  return new ItemRefused(index, new FeedRefusal(error.rawMessage, { cause: error }));
}
