/**
 * Whether a PostgreSQL server answers. It is asked on a connection of its own, so that the answer does not depend on how busy the pool is. A server that
 * refuses connections is told at once by those who need it; one that hangs would be waited for without end, so its connections are cut after a while.
 */
import { setImmediate } from "node:timers/promises";
import pg from "pg";
import { RefusedError, UnavailableError } from "../errors.ts";
import { notConnected } from "./postgres-errors.ts";

/** A server that has not answered for so long is waited for no longer by statements that are under way, and by none until it answers again. */
const giveUpMs = 3000;
/** At closing, a connection is given so long to end. */
const endMs = 1000;

/** What is known of a server's answers. */
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

  /** A connection that is to be cut when the server hangs. */
  guard(client: pg.ClientBase): void {
    this.#guarded.add(client);
    client.once("end", () => this.#guarded.delete(client));
  }

  /** A statement has been answered. */
  answered(): void {
    this.#answers++;
  }

  /** Errors: UnavailableError while the server hangs. */
  refuse(): void {
    if (this.#isGivenUp) throw this.#silence(undefined);
  }

  /** Asks the server. Errors: UnavailableError, RefusedError when it has not answered in time. */
  async check(timeoutMs: number): Promise<void> {
    const startMs = performance.now();
    const answers = this.#answers;
    const asked = this.#ask(timeoutMs);
    const timer = Promise.withResolvers<"late">();
    const timeout = setTimeout(() => void setImmediate("late" as const).then(timer.resolve), timeoutMs); // what has arrived is read first
    try {
      const outcome = await Promise.race([asked, timer.promise]);
      if (outcome === "late" && this.#answers === answers) throw this.#silence(undefined);
      this.#silentSinceMs = undefined;
      this.#isGivenUp = false;
    } catch (error) {
      this.#drop();
      this.#silentSinceMs ??= startMs;
      this.#isGivenUp = performance.now() - this.#silentSinceMs >= giveUpMs;
      if (this.#isGivenUp) for (const client of this.#guarded) cut(client);
      throw error;
    } finally {
      clearTimeout(timeout);
      asked.catch(() => {}); // it was too late
    }
  }

  async #ask(timeoutMs: number): Promise<void> {
    if (this.#client !== undefined) {
      try {
        await this.#client.query("select 1");
        return;
      } catch {
        this.#drop(); // the server may have closed this connection alone
      }
    }
    try {
      const client = new pg.Client({ connectionString: this.#url, connectionTimeoutMillis: timeoutMs });
      client.on("error", () => {}); // the next question tells
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
    if (this.#client !== undefined) cut(this.#client);
    this.#client = undefined;
  }

  /** Ends the connection for questions, and before long those that the pool has told to end: a server that hangs does not end them. */
  close(): void {
    this.#drop();
    setTimeout(() => {
      for (const client of this.#guarded) cut(client);
    }, endMs).unref();
  }
}

/** Errors: RefusedError when the URL, or a file that it names, cannot be read; without a cause, which may hold the password. */
function addressOf(url: string): string {
  try {
    const { host, port, database } = new pg.Client(url);
    return `${host}:${port}/${database ?? ""}`;
  } catch (error) {
    throw new RefusedError(`the URL of the database cannot be used: ${(error as Error).message}`);
  }
}

/** Closes a connection without a word; whoever waits on it is told that it has ended. */
function cut(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
