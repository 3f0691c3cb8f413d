/** Runs statements on PostgreSQL connections, and sets the connections up. */
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
  [bytea]: (text) => new Uint8Array(Buffer.from(text.slice(2), "hex")),
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
  /** Takes a connection from the pool; the caller releases it. Errors: UnavailableError, RefusedError. */
  take(): Promise<pg.PoolClient>;
  /** Called when the server has answered a statement. */
  answered(): void;
}

/** Runs statements one after another on one connection, or each on any connection of the pool. */
export class PostgresConnection implements SqlConnection {
  readonly #client: pg.PoolClient | undefined;
  readonly #names: StatementNames;
  readonly #connections: Connections;
  /** Resolved when the previous statement has ended: a connection runs one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(client: pg.PoolClient | undefined, names: StatementNames, connections: Connections) {
    this.#client = client;
    this.#names = names;
    this.#connections = connections;
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return (await this.#query(statement, values)).rows;
  }

  /**
   * As `rows`, on any connection of the pool. Aborting `signal` closes the connection, so that the server stops the
   * statement. The promise rejects once it has had the time to do so.
   */
  async stoppableRows(statement: Statement, values: Values, signal: AbortSignal): Promise<unknown[][]> {
    const client = await this.#connections.take();
    const stop = () => closeSocket(client);
    let isBroken = false;
    try {
      signal.throwIfAborted();
      signal.addEventListener("abort", stop);
      return (await this.#send(client, statement, values)).rows;
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

  async run(statement: Statement, values: Values): Promise<number> {
    return (await this.#query(statement, values)).rowCount ?? 0;
  }

  #query(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    const client = this.#client;
    if (client === undefined) return this.#sendOnAny(statement, values);
    const sent = this.#turn.then(() => this.#send(client, statement, values));
    this.#turn = sent.catch(() => {}); // the caller handles the error
    return sent;
  }

  async #sendOnAny(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    const client = await this.#connections.take();
    let isBroken = false;
    try {
      return await this.#send(client, statement, values);
    } catch (error) {
      isBroken = endsConnection(error);
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  async #send(client: pg.PoolClient, statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    const { text } = statement;
    const name = this.#names.of(text);
    try {
      const result = await client.query<unknown[]>({
        ...(name !== undefined && { name }),
        text,
        values: parametersOf(statement, values),
        rowMode: "array",
      });
      this.#connections.answered();
      return result;
    } catch (error) {
      throw translated(error);
    }
  }
}

/** Closes the socket of a connection. Statements that wait on it fail. */
export function closeSocket(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
