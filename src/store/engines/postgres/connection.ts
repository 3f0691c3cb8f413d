/** Runs statements on PostgreSQL connections, and sets the connections up. */
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { parametersOf, type SqlConnection, type Statement, type Values } from "../../sql/statement.ts";
import { endsConnection, translated } from "./errors.ts";

/** How many statements get a name, which the server keeps prepared. Further ones are sent unnamed. */
const maxNamedStatements = 1000;

/**
 * How often the server checks whether the client of a running statement is still connected, and stops the statement if
 * not. Since PostgreSQL 14; `set_config` changes only settings that exist.
 */
const connectionCheckMs = 500;
const checkConnection = `select set_config(name, '${connectionCheckMs}', false) from pg_settings where name = 'client_connection_check_interval'`;

/** The statements that set up a new connection. */
export const sessionSettings = `
  set statement_timeout = '30s';
  set lock_timeout = '10s';
  set idle_in_transaction_session_timeout = '30s';
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off;
  set enable_bitmapscan = off;
  set max_parallel_workers_per_gather = 0;
  set jit = off;
  ${checkConnection}`;

const int8 = 20;
const bytea = 17;
const parsers: Record<number, (text: string) => unknown> = {
  [int8]: Number,
  [bytea]: (text) => {
    const { buffer, byteOffset, byteLength } = Buffer.from(text.slice(2), "hex");
    return new Uint8Array(buffer, byteOffset, byteLength);
  },
};

/** How pg reads values: integers as numbers, bytes as Uint8Array. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => parsers[oid] ?? pg.types.getTypeParser(oid, format),
};

/** The names of prepared statements, the same on all connections. */
export class StatementNames {
  readonly #names = new Map<string, string>();

  /** The name of a statement; undefined for one that gets none. */
  of(text: string): string | undefined {
    let name = this.#names.get(text);
    if (name === undefined && this.#names.size < maxNamedStatements) {
      name = `s${this.#names.size}`;
      this.#names.set(text, name);
    }
    return name;
  }
}

/** The source of connections. */
export interface Connections {
  readonly names: StatementNames;
  /** Takes a connection from the pool; the caller releases it. Errors: UnavailableError, RefusedError. */
  take(): Promise<pg.PoolClient>;
  /** Called when the server has answered a statement. */
  answered(): void;
}

/** Sends a statement. The connection need not have answered those before it. */
async function query(
  { names, answered }: Connections,
  client: pg.PoolClient,
  statement: Statement,
  values: Values,
): Promise<pg.QueryArrayResult<unknown[]>> {
  const { text } = statement;
  const name = names.of(text);
  gather(client);
  try {
    const result = await client.query<unknown[]>({
      ...(name !== undefined && { name }),
      text,
      values: parametersOf(statement, values),
      rowMode: "array",
    });
    answered();
    return result;
  } catch (error) {
    throw translated(error);
  }
}

/**
 * Runs statements outside transactions. Those of all calls share a few connections, on which many are under way at
 * once, so that neither side is woken for each.
 */
export class SharedConnection implements SqlConnection {
  readonly #connections: Connections;
  readonly #size: number;
  readonly #shared = new Set<Shared>();
  #opening: Promise<Shared> | undefined;

  /** @param size how many connections. */
  constructor(connections: Connections, size: number) {
    this.#connections = connections;
    this.#size = size;
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return (await this.#query(statement, values)).rows;
  }

  async run(statement: Statement, values: Values): Promise<number> {
    return (await this.#query(statement, values)).rowCount ?? 0;
  }

  async send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Promise<void> {
    try {
      await this.#query(statement, values);
    } catch (error) {
      throw failed(error);
    }
  }

  /**
   * As `rows`, on a connection of its own. Aborting `signal` closes the connection, so that the server stops the
   * statement. The promise rejects once it has had the time to do so.
   */
  async stoppableRows(statement: Statement, values: Values, signal: AbortSignal): Promise<unknown[][]> {
    const client = await this.#connections.take();
    const stop = () => closeSocket(client);
    let isBroken = false;
    try {
      signal.throwIfAborted();
      signal.addEventListener("abort", stop);
      return (await query(this.#connections, client, statement, values)).rows;
    } catch (error) {
      if (!signal.aborted) {
        isBroken = endsConnection(error);
        throw error;
      }
      await setTimeout(connectionCheckMs);
      throw signal.reason;
    } finally {
      signal.removeEventListener("abort", stop);
      client.release(isBroken || signal.aborted);
    }
  }

  async #query(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    const shared = this.#leastBusy() ?? (await this.#open());
    shared.underWay++;
    try {
      return await query(this.#connections, shared.client, statement, values);
    } catch (error) {
      if (endsConnection(error)) this.#drop(shared);
      throw error;
    } finally {
      shared.underWay--;
    }
  }

  /** The connection with the fewest statements under way; undefined when another one should be opened. */
  #leastBusy(): Shared | undefined {
    let least: Shared | undefined;
    for (const shared of this.#shared) if (least === undefined || shared.underWay < least.underWay) least = shared;
    const mayOpen = this.#opening === undefined && this.#shared.size < this.#size;
    return least !== undefined && least.underWay > 0 && mayOpen ? undefined : least;
  }

  #open(): Promise<Shared> {
    this.#opening ??= this.#connections
      .take()
      .then((client) => {
        const shared = { client, underWay: 0 };
        this.#shared.add(shared);
        client.once("end", () => this.#drop(shared));
        return shared;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    return this.#opening;
  }

  #drop(shared: Shared): void {
    if (this.#shared.delete(shared)) shared.client.release(true);
  }

  /** Gives the connections back. */
  close(): void {
    for (const { client } of this.#shared) client.release();
    this.#shared.clear();
  }
}

interface Shared {
  readonly client: pg.PoolClient;
  /** How many statements have no answer yet. */
  underWay: number;
}

/**
 * Runs the statements of one transaction. Those whose result nobody needs are sent without waiting for it. `BEGIN` is
 * sent with the first statement, if that one reads: nothing is written before the transaction is known to have begun.
 */
export class TransactionConnection implements SqlConnection {
  readonly #client: pg.PoolClient;
  readonly #connections: Connections;
  readonly #begun: Promise<unknown>;
  #hasBegun = false;
  readonly #sent: Promise<void>[] = [];
  #failure: { readonly error: unknown } | undefined;

  /** @param begin the statement that begins it. */
  constructor(client: pg.PoolClient, connections: Connections, begin: string) {
    this.#client = client;
    this.#connections = connections;
    gather(client);
    this.#begun = client.query(begin).then(
      () => {
        this.#hasBegun = true;
      },
      (error) => {
        this.#failure ??= { error: translated(error) };
      },
    );
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return (await this.#query(statement, values)).rows;
  }

  async run(statement: Statement, values: Values): Promise<number> {
    return (await this.#query(statement, values)).rowCount ?? 0;
  }

  async #query(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    if (!this.#hasBegun && !statement.text.startsWith("select ")) await this.#begun;
    this.#throwFailure();
    try {
      const result = await query(this.#connections, this.#client, statement, values);
      this.#throwFailure(); // what was sent before it has been answered
      return result;
    } catch (error) {
      this.#throwFailure(); // the reason why the server refuses further statements
      throw error;
    }
  }

  async send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Promise<void> {
    if (!this.#hasBegun) await this.#begun;
    this.#throwFailure();
    const sent = query(this.#connections, this.#client, statement, values).then(
      () => {},
      (error) => {
        this.#failure ??= { error: failed(error) };
      },
    );
    this.#sent.push(sent);
  }

  /** Commits. Errors: those of statements that were sent. The server then has rolled back. */
  async commit(): Promise<void> {
    gather(this.#client);
    const committed = this.#client.query("commit");
    const [outcome] = await Promise.allSettled([committed, this.#begun, ...this.#sent]);
    this.#throwFailure();
    if (outcome.status === "rejected") throw outcome.reason;
  }

  /** Waits until everything that was sent has been answered. Returns its first error, or `error` if there is none. */
  async settle(error: unknown): Promise<unknown> {
    await Promise.all([this.#begun, ...this.#sent]);
    return this.#failure === undefined ? error : this.#failure.error;
  }

  async rollback(): Promise<void> {
    await this.#client.query("rollback");
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

const gathering = new WeakSet<pg.ClientBase>();

/** Sends the statements of one iteration of the event loop as one piece. */
function gather(client: pg.ClientBase): void {
  if (gathering.has(client)) return;
  gathering.add(client);
  const stream = streamOf(client);
  stream.cork();
  setImmediate(() => {
    gathering.delete(client);
    stream.uncork();
  });
}

function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** Closes the socket of a connection. Statements that wait on it fail. */
export function closeSocket(client: pg.ClientBase): void {
  streamOf(client).destroy();
}
