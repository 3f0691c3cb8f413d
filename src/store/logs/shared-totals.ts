/** Totals outside transactions, where the database is another process. */
import { type Awaitable, chain } from "../../awaitable.ts";
import type { SqlConnection, Statement, Values } from "../sql/statement.ts";

/** Equal totals that are asked for in one iteration of the event loop share a statement, which is sent at its end. */
export class SharedTotals {
  readonly #connection: SqlConnection;
  #asked: Map<string, Awaitable<number>> | undefined;

  constructor(connection: SqlConnection) {
    this.#connection = connection;
  }

  /** The total that a statement reads. @param key the same for equal totals. */
  read(key: string, statement: Statement, values: Values): Awaitable<number> {
    if (this.#asked === undefined) {
      this.#asked = new Map();
      setImmediate(() => {
        this.#asked = undefined;
      });
    }
    let total = this.#asked.get(key);
    if (total === undefined) {
      total = chain(this.#connection.rows(statement, values), ([row]) => row![0] as number);
      this.#asked.set(key, total);
    }
    return total;
  }
}
