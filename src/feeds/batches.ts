/**
 * Writing items in transactions that others hardly notice. A batch holds the database's write lock for 50 ms at most, commit included, as far as whole
 * items allow: an item is never divided. Between two batches is a pause as long as the last one took, in which the next items are read and parsed; it
 * costs an import little and leaves half of the time to others, so there is no setting for it.
 *
 * An item that the database's rules refuse takes back its batch, which is written again without it.
 */
import { setTimeout } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ConflictError, type Database, type WriteSession } from "../store/index.ts";
import { FeedRefusal } from "./fields.ts";

/** Where batches are written, and by which clock. */
export interface BatchOptions {
  readonly database: Database;
  /** Milliseconds of a clock that only goes forward. */
  readonly clock?: () => number;
  readonly pause?: (ms: number) => Promise<unknown>;
}

const maxLockMs = 50;
const firstCapacity = 50;
const maxCapacity = 5000;
const maxConflicts = 20;

/** Writes batches to one database, one after another. */
export class Batches {
  readonly #database: Database;
  readonly #clock: () => number;
  readonly #pause: (ms: number) => Promise<unknown>;
  #commitMs = 5;
  #pauseUntilMs = 0;
  /** About how many items fill a batch. */
  #capacity = firstCapacity;

  constructor({ database, clock = () => performance.now(), pause = (ms) => setTimeout(ms) }: BatchOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#pause = pause;
  }

  /** Whether there is reason to write now: this many items fill a batch and the pause is over, or there is no use in more of them. */
  isDue(ready: number): boolean {
    return ready >= 2 * this.#capacity || (ready >= this.#capacity && this.#clock() >= this.#pauseUntilMs);
  }

  /**
   * Waits for the pause to end and writes as many of the items, from the first on, as one batch takes, at least one. What each of them came to, in
   * order, with a refusal for one that the rules do not take.
   * Errors: ConflictError when others win again and again; what `write` throws beside INVALID_ARGUMENT.
   */
  async write<T, R>(
    items: readonly T[],
    write: (session: WriteSession, item: T) => Promise<R>,
  ): Promise<readonly (R | FeedRefusal)[]> {
    for (let limit = items.length; ; ) {
      const outcome = await this.#writeOnce(items.slice(0, limit), write);
      if (!(outcome instanceof ItemRefused)) return outcome;
      if (outcome.index === 0) return [outcome.refusal];
      limit = outcome.index; // those before it are known to be good
    }
  }

  /** Runs one transaction at its time. */
  async transact<R>(work: (session: WriteSession, startMs: number) => Promise<R>): Promise<R> {
    for (let conflicts = 0; ; conflicts++) {
      const waitMs = this.#pauseUntilMs - this.#clock();
      if (waitMs > 0) await this.#pause(waitMs);
      let startMs = this.#clock();
      let endMs = startMs;
      try {
        const result = await this.#database.transact(async (session) => {
          startMs = this.#clock();
          const value = await work(session, startMs);
          endMs = this.#clock();
          return value;
        });
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
  ): Promise<R[] | ItemRefused> {
    const budgetMs = Math.max(maxLockMs / 4, maxLockMs - this.#commitMs);
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
      });
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

/** Takes back a batch because of one item in it. */
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
