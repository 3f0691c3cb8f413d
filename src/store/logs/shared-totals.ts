/** Totals outside transactions, each of which is read once where it cannot have changed. */
import { type Awaitable, chain } from "../../awaitable.ts";
import { LruMap } from "../../lru-map.ts";
import type { SqlConnection, Statement, Values } from "../sql/statement.ts";

const maxTotals = 10_000;

/**
 * Equal totals share a statement until a process may have committed; where only the database's server knows that, those
 * that are asked for in one iteration of the event loop do.
 */
export class SharedTotals {
  readonly #connection: SqlConnection;
  readonly #commits: (() => number) | undefined;
  readonly #asked = new LruMap<string, Awaitable<number>>(maxTotals);
  /** The number of commits when they were asked for. */
  #at = 0;
  #isDue = false;

  /** @param commits a number that changes whenever any process may have committed. */
  constructor(connection: SqlConnection, commits: (() => number) | undefined) {
    this.#connection = connection;
    this.#commits = commits;
  }

  /** The total that a statement reads. @param key the same for equal totals. */
  read(key: string, statement: Statement, values: Values): Awaitable<number> {
    this.#forget();
    let total = this.#asked.get(key);
    if (total === undefined) {
      total = chain(this.#connection.rows(statement, values), ([row]) => row![0] as number);
      this.#asked.set(key, total);
    }
    return total;
  }

  /** Forgets totals that may have changed, now or at the end of this iteration. */
  #forget(): void {
    if (this.#commits !== undefined) {
      const commits = this.#commits();
      if (commits !== this.#at) this.#asked.clear();
      this.#at = commits;
    } else if (!this.#isDue) {
      this.#isDue = true;
      setImmediate(() => {
        this.#isDue = false;
        this.#asked.clear();
      });
    }
  }
}
