/**
 * Detects a PostgreSQL server that does not answer. It is checked on a separate connection, so that the result does not
 * depend on the load of the pool. A server that refuses connections fails statements at once. Statements would wait for
 * one that hangs without end, so its connections are destroyed after a while.
 */
import { setImmediate } from "node:timers/promises";
import pg from "pg";
import { RefusedError, UnavailableError } from "../../sql/errors.ts";
import { closeSocket } from "./connection.ts";
import { notConnected } from "./errors.ts";

/**
 * After this time without an answer, running statements fail, and new ones are refused until the server answers again.
 */
const giveUpMs = 3000;
/** How long a connection may take to close before it is destroyed. */
const endMs = 1000;

/** The state of a server, as its answers show it. */
export class Outage {
  /** The server's address and its database, without a password. */
  readonly address: string;
  readonly #url: string;
  readonly #guarded = new Set<pg.ClientBase>();
  #client: pg.Client | undefined;
  #answers = 0;
  #silentSinceMs: number | undefined;
  #isGivenUp = false;

  constructor(url: string) {
    this.#url = url;
    this.address = addressOf(url);
  }

  /** Registers a connection to be destroyed when the server hangs. */
  guard(client: pg.ClientBase): void {
    this.#guarded.add(client);
    client.once("end", () => this.#guarded.delete(client));
  }

  /** Records that the server has answered a statement. */
  answered(): void {
    this.#answers++;
  }

  /** Throws an UnavailableError while the server hangs. */
  refuse(): void {
    if (this.#isGivenUp) throw this.#silence(undefined);
  }

  /** Checks that the server answers within `timeoutMs`. Errors: UnavailableError, RefusedError. */
  async check(timeoutMs: number): Promise<void> {
    const startMs = performance.now();
    const answers = this.#answers;
    const asked = this.#ask(timeoutMs);
    const timer = Promise.withResolvers<"late">();
    // The timer lets the event loop read data that has arrived first.
    const timeout = setTimeout(() => void setImmediate("late" as const).then(timer.resolve), timeoutMs);
    try {
      const outcome = await Promise.race([asked, timer.promise]);
      if (outcome === "late" && this.#answers === answers) throw this.#silence(undefined);
      this.#silentSinceMs = undefined;
      this.#isGivenUp = false;
    } catch (error) {
      this.#drop();
      this.#silentSinceMs ??= startMs;
      this.#isGivenUp = performance.now() - this.#silentSinceMs >= giveUpMs;
      if (this.#isGivenUp) for (const client of this.#guarded) closeSocket(client);
      throw error;
    } finally {
      clearTimeout(timeout);
      asked.catch(() => {}); // it may fail after the timeout
    }
  }

  async #ask(timeoutMs: number): Promise<void> {
    if (this.#client !== undefined) {
      try {
        await this.#client.query("select 1");
        return;
      } catch {
        this.#drop(); // the server may have closed only this connection
      }
    }
    try {
      const client = new pg.Client({ connectionString: this.#url, connectionTimeoutMillis: timeoutMs });
      client.on("error", () => {}); // the next check reports it
      this.#client = client;
      await client.connect();
      await client.query("select 1");
    } catch (error) {
      throw notConnected(error, this.address);
    }
  }

  #silence(cause: unknown): UnavailableError {
    return new UnavailableError(`the database at ${this.address} does not answer`, cause);
  }

  #drop(): void {
    if (this.#client !== undefined) closeSocket(this.#client);
    this.#client = undefined;
  }

  /**
   * Closes the connection of the checks, and destroys those of the pool that a server which hangs does not close in
   * time.
   */
  close(): void {
    this.#drop();
    setTimeout(() => {
      for (const client of this.#guarded) closeSocket(client);
    }, endMs).unref();
  }
}

/**
 * Errors: RefusedError when the URL, or a file that it names, cannot be read; without a cause, which might contain the
 * password.
 */
function addressOf(url: string): string {
  try {
    const { host, port, database } = new pg.Client(url);
    return `${host}:${port}/${database ?? ""}`;
  } catch (error) {
    throw new RefusedError(`the URL of the database cannot be used: ${(error as Error).message}`);
  }
}
