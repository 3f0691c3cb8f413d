/**
 * Detects a PostgreSQL server that does not answer. It is checked on a separate connection, so that the result does not
 * depend on the load of the pool. A server that refuses connections fails statements at once. Statements would wait for
 * one that hangs without end, so its connections are destroyed after a while.
 */
import { setImmediate } from "node:timers/promises";
import pg from "pg";
import { UnavailableError } from "../../sql/errors.ts";
import { notConnected } from "./errors.ts";
import type { Hosts } from "./hosts.ts";
import { closeSocket } from "./statements.ts";

/**
 * After this time without an answer, running statements fail, and new ones are refused until the server answers again.
 */
const giveUpMs = 3000;
/** How long a connection may take to close before it is destroyed. */
const endMs = 1000;

/** The state of a server, as its answers show it. */
export class Outage {
  readonly #hosts: Hosts;
  readonly #guarded = new Set<pg.ClientBase>();
  /** The connections that were tried last, the one that is kept among them. */
  #asked: readonly pg.Client[] = [];
  #client: pg.Client | undefined;
  #answers = 0;
  #silentSinceMs: number | undefined;
  #isGivenUp = false;

  constructor(hosts: Hosts) {
    this.#hosts = hosts;
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
        await this.#askWhether(this.#client);
        return;
      } catch {
        this.#drop(); // the server may have closed only this connection
      }
    }
    const { urls, addresses } = this.#hosts;
    const clients = urls.map((url) => new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs }));
    this.#asked = clients;
    try {
      const first = await Promise.any(
        clients.map(async (client, i) => {
          client.on("error", () => {}); // the next check reports it
          await client.connect();
          await this.#askWhether(client);
          return i;
        }),
      );
      this.#client = clients[first];
      this.#hosts.use(urls[first]!);
    } catch (error) {
      throw notConnected(error, addresses);
    } finally {
      for (const client of clients) if (client !== this.#client) closeSocket(client);
    }
  }

  /** Whether a server answers, and takes writes if it must. */
  async #askWhether(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
    if (this.#hosts.mustWrite && rows[0]?.transaction_read_only === "on") throw new Error("it is read-only");
  }

  #silence(cause: unknown): UnavailableError {
    return new UnavailableError(`the database at ${this.#hosts.addresses} does not answer`, cause);
  }

  #drop(): void {
    for (const client of this.#asked) closeSocket(client);
    this.#asked = [];
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
