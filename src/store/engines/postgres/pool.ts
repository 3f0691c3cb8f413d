/** The connections of a process to PostgreSQL: how they are opened and set up, and how what they run is stopped. */
import pg from "pg";
import type { PostgresPoolOptions } from "../engine.ts";
import { cancelStatement } from "./cancel.ts";
import { notConnected } from "./errors.ts";
import { Hosts } from "./hosts.ts";
import { Outage } from "./outage.ts";
import { checkServer } from "./server-check.ts";
import { distributedSessionSettings, sessionSettings, setUserDefaults } from "./session-settings.ts";
import { closeSocket, type Sending, StatementNames, types } from "./statements.ts";

/** Where another host may answer, one that does not is given up sooner. */
const connectTimeoutMs = { only: 10_000, oneOfSeveral: 2000 };
/** How many rows a counter has: two transactions of a process seldom write the same one. */
const counterSlots = 16;
/** How long a statement may take to end after its server was asked to stop it. */
const stopMs = 1000;

/** An open pool. */
export class ConnectionPool implements Sending {
  readonly #pool: pg.Pool;
  readonly #hosts: Hosts;
  readonly #options: PostgresPoolOptions;
  readonly #outage: Outage;
  readonly #names = new StatementNames();
  readonly #slots = new WeakMap<pg.ClientBase, number>();
  #nextSlot = Math.floor(Math.random() * counterSlots);
  #isPooled = false;
  #distributedTables: ReadonlySet<string> = new Set();

  private constructor(hosts: Hosts, options: PostgresPoolOptions) {
    this.#hosts = hosts;
    this.#options = options;
    this.#outage = new Outage(hosts);
    const connectionTimeoutMillis = this.#connectTimeoutMs;
    this.#pool = new pg.Pool({
      max: options.connections,
      connectionTimeoutMillis,
      onConnect: (client) => this.#setUp(client),
      Client: class extends pg.Client {
        constructor() {
          super({ connectionString: hosts.url, connectionTimeoutMillis, keepAlive: true, pipeline: true, types });
        }
      },
    });
    this.#pool.on("error", () => {});
  }

  /** Opens a pool on the database at `url`, and checks that it answers. Errors: UnavailableError, RefusedError. */
  static async open(url: string, options: PostgresPoolOptions): Promise<ConnectionPool> {
    const pool = new ConnectionPool(new Hosts(url), options);
    try {
      (await pool.take()).release();
      await pool.check(pool.#connectTimeoutMs); // later checks use the same connection
      return pool;
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  get #connectTimeoutMs(): number {
    return this.#hosts.urls.length === 1 ? connectTimeoutMs.only : connectTimeoutMs.oneOfSeveral;
  }

  get names(): StatementNames | undefined {
    const { preparedStatements } = this.#options;
    const areKept = preparedStatements === "auto" ? !this.#isPooled : preparedStatements === "on";
    return areKept ? this.#names : undefined;
  }

  /** Whether a pooler stands before the server. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** The tables that Citus distributes. */
  get distributedTables(): ReadonlySet<string> {
    return this.#distributedTables;
  }

  /** How many connections there are, and how many of them are idle. */
  get counts(): { readonly total: number; readonly idle: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount };
  }

  answered(): void {
    this.#outage.answered();
  }

  /** Takes a connection; the caller releases it. Errors: UnavailableError, RefusedError. */
  async take(): Promise<pg.PoolClient> {
    this.#outage.refuse();
    for (let triesLeft = this.#hosts.urls.length; ; triesLeft--) {
      const { url } = this.#hosts;
      try {
        return await this.#pool.connect();
      } catch (error) {
        this.#hosts.failed(url);
        if (triesLeft === 1) throw notConnected(error, this.#hosts.addresses);
      }
    }
  }

  /** Which of the rows of a counter transactions on this connection write. */
  slotOf(client: pg.ClientBase): number {
    return this.#slots.get(client) ?? 0;
  }

  async #setUp(client: pg.ClientBase): Promise<void> {
    client.on("error", () => {}); // the next statement on a lost connection reports it
    this.#slots.set(client, this.#nextSlot++ % counterSlots);
    this.#outage.guard(client);
    const { isPooled, isReadOnly, distributedTables } = await checkServer(client);
    if (isReadOnly && this.#hosts.mustWrite) throw new Error("it is read-only");
    const isDistributed = distributedTables.size > 0;
    if (isPooled && !this.#isPooled) await setUserDefaults(client, isDistributed);
    if (!isPooled) await client.query(isDistributed ? distributedSessionSettings : sessionSettings);
    this.#isPooled = isPooled;
    this.#distributedTables = distributedTables;
  }

  /** Checks within `timeoutMs` that the server answers. Errors: UnavailableError, RefusedError. */
  check(timeoutMs: number): Promise<void> {
    return this.#outage.check(timeoutMs);
  }

  async close(): Promise<void> {
    const ended = this.#pool.end();
    this.#outage.close();
    await ended;
  }
}

/** Stops what a connection runs when a signal is aborted. */
export class Cancellation {
  readonly #client: pg.ClientBase;
  readonly #signal: AbortSignal;
  #request: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(client: pg.ClientBase, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    if (signal.aborted) this.#cancel();
    else signal.addEventListener("abort", this.#cancel);
  }

  readonly #cancel = () => {
    this.#request = stopStatement(this.#client);
    this.#timer = setTimeout(() => closeSocket(this.#client), stopMs);
  };

  /** To be called when nothing is under way. Resolves when no later statement of the connection will be stopped. */
  async end(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#cancel);
    clearTimeout(this.#timer);
    await this.#request;
  }
}

/** Stops the statement that a connection runs. Closes the connection if the server cannot be asked to. */
export async function stopStatement(client: pg.ClientBase): Promise<void> {
  if (!(await cancelStatement(client))) closeSocket(client);
}
