/**
 * PostgreSQL through a pool of connections. Transactions run at the same time and SERIALIZABLE, so that a check and the write that relies on
 * it hold together without a lock being named; one that loses against another runs again. Plans are decided by the shape of our statements, never by
 * statistics: scans that no shape of ours wants are switched off, and one plan serves all values of a statement.
 *
 * Nothing here is beyond CockroachDB: no advisory lock, no LISTEN.
 */
import { setTimeout } from "node:timers/promises";
import { PostgresAdapter, PostgresQueryCompiler, sql } from "kysely";
import pg from "pg";
import { Counters, counterStatements } from "../counters.ts";
import { ConflictError, NotUniqueError, UnavailableError } from "../errors.ts";
import { type Connection, parametersOf, type Statement, type Values } from "../statement.ts";
import { type Dialect, type Engine, queryBuilder, type Work } from "./dialect.ts";
import { postgresContent } from "./postgres-content.ts";
import { endsConnection, notConnected, translated } from "./postgres-errors.ts";
import { Outage } from "./postgres-outage.ts";

/** How PostgreSQL says it. An expression over a column keeps its value and has no index. */
export const postgres: Dialect = {
  name: "postgresql",
  query: queryBuilder(new PostgresAdapter(), new PostgresQueryCompiler()),
  types: {
    text: sql`text collate "C"`,
    integer: sql`bigint`,
    texts: sql`text collate "C"`,
    search: sql`text collate "C"`,
    bytes: sql`bytea`,
  },
  plain: (column, type) => (type === "text" ? sql`(${column} || '')` : sql`(${column} + 0)`),
  elements: (json) => sql`json_array_elements(${json}::json) as r(value)`,
  texts: (json) => sql`json_array_elements_text(${json}::json) as r(value)`,
  isIn: (column, type, json) =>
    sql<boolean>`${column} = any(array(select value::${sql.raw(type === "text" ? "text" : "bigint")} from json_array_elements_text(${json}::json)))`,
  eachOf: (r, table, uids) =>
    sql`${r} cross join lateral (${uids}) as u cross join lateral (select * from ${sql.table(table)} as i where i.uid = u.uid) as t`,
  ...postgresContent,
  skipLocked: sql`for update skip locked`,
  clustered: sql``,
  tableExists: (name) =>
    sql`select 1 from information_schema.tables where table_schema = current_schema() and table_name = ${name}`,
};

/** Connections of a process, and slots of a counter: no two transactions of a process meet on a slot. */
const poolSize = 16;
const connectTimeoutMs = 10_000;
/** Distinct statements named, hence kept prepared by the server; rarer shapes beyond are sent unnamed. */
const maxNamedStatements = 1000;

const sessionSettings = `
  set statement_timeout = '30s';
  set lock_timeout = '10s';
  set idle_in_transaction_session_timeout = '30s';
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off;
  set enable_bitmapscan = off;
  set max_parallel_workers_per_gather = 0;
  set jit = off`;

/** Opens a pool on the database at `url`, and makes sure that it answers. Errors: UnavailableError, RefusedError. */
export async function openPostgres(url: string, patienceMs: number): Promise<Engine> {
  const slots = new WeakMap<pg.ClientBase, number>();
  let nextSlot = Math.floor(Math.random() * poolSize);
  const outage = new Outage(url);
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser: (oid, format) => parsers[oid] ?? pg.types.getTypeParser(oid, format) },
    onConnect: async (client) => {
      client.on("error", () => {}); // a lost connection is told by the statement that needs it
      slots.set(client, nextSlot++ % poolSize);
      outage.guard(client);
      await client.query(sessionSettings);
    },
  });
  pool.on("error", () => {});
  const connections = {
    async take() {
      outage.refuse();
      try {
        return await pool.connect();
      } catch (error) {
        throw notConnected(error, outage.address);
      }
    },
    answered: () => outage.answered(),
  };
  try {
    await outage.check(connectTimeoutMs); // its connection is there when it is asked again
  } catch (error) {
    await pool.end();
    outage.close();
    throw error;
  }
  const names = new StatementNames();
  const statements = counterStatements(postgres);

  /** Runs `work` once, in a transaction that begins with `begin`. Errors: an UnavailableError `isUndecided` when the answer to its COMMIT is lost. */
  async function once<T>(
    begin: string,
    work: (connection: Connection, client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    const client = await connections.take();
    let isBroken = false;
    let isCommitting = false;
    try {
      await client.query(begin);
      const value = await work(new PostgresConnection(client, names, connections), client);
      isCommitting = true;
      await client.query("commit");
      return value;
    } catch (error) {
      const failure = translated(error);
      isBroken = endsConnection(failure);
      if (!isBroken)
        await client.query("rollback").catch(() => {
          isBroken = true;
        });
      throw isCommitting && failure instanceof UnavailableError
        ? new UnavailableError(`the answer to a COMMIT is lost: ${failure.message}`, failure.cause, true)
        : failure;
    } finally {
      client.release(isBroken);
    }
  }

  async function transact<T>(work: Work<T>): Promise<T> {
    const giveUpAt = performance.now() + patienceMs;
    for (let attempt = 0, collided = false; ; attempt++) {
      try {
        return await once("begin isolation level serializable", async (connection, client) => {
          const counters = new Counters(statements);
          const value = await work(connection, counters);
          await counters.write(connection, slots.get(client) ?? 0);
          return value;
        });
      } catch (error) {
        if (error instanceof NotUniqueError && !collided) collided = true;
        else if (!(error instanceof ConflictError) || performance.now() > giveUpAt) throw error;
      }
      await setTimeout(Math.random() * Math.min(2 ** attempt, 100));
    }
  }

  const any = new PostgresConnection(undefined, names, connections);
  return {
    dialect: postgres,
    reader: any,
    isConcurrent: true,
    transact,
    alone: async (work) => work(any), // outside a transaction block the server makes one of each statement, READ COMMITTED
    exclusively: async (work) => {
      await createLock(any);
      return once("begin", async (connection, client) => {
        await client.query("set local statement_timeout = 0; set local lock_timeout = 0");
        await client.query("select id from migration_lock where id = 1 for update");
        return work(connection);
      });
    },
    check: (timeoutMs) => outage.check(timeoutMs),
    close: async () => {
      await pool.end();
      outage.close();
    },
  };
}

/** The row that migrating processes lock. Two that create the table at once can collide in the catalogue; the loser looks again. */
async function createLock(connection: Connection): Promise<void> {
  for (let triesLeft = 5; ; triesLeft--) {
    try {
      await connection.run(createLockTable, {});
      await connection.run(addLock, {});
      return;
    } catch (error) {
      if (triesLeft === 0 || error instanceof UnavailableError) throw error;
    }
    await setTimeout(20 + Math.random() * 100);
  }
}

const createLockTable = { text: "create table if not exists migration_lock (id bigint primary key)", slots: [] };
const addLock = { text: "insert into migration_lock (id) values (1) on conflict do nothing", slots: [] };

const int8 = 20;
const bytea = 17;
const parsers: Record<number, (text: string) => unknown> = {
  [int8]: Number,
  [bytea]: (text) => new Uint8Array(Buffer.from(text.slice(2), "hex")),
};

/** Gives every statement the same name on all connections. */
class StatementNames {
  readonly #names = new Map<string, string>();

  of(text: string): string | undefined {
    let name = this.#names.get(text);
    if (name === undefined && this.#names.size < maxNamedStatements) {
      name = `s${this.#names.size}`;
      this.#names.set(text, name);
    }
    return name;
  }
}

/** Where connections come from. */
interface Connections {
  /** One of the pool, to be released. Errors: UnavailableError, RefusedError. */
  take(): Promise<pg.PoolClient>;
  /** Told that a statement has been answered. */
  answered(): void;
}

/** Runs statements one after another on one connection, or each on any of a pool. */
class PostgresConnection implements Connection {
  readonly #client: pg.PoolClient | undefined;
  readonly #names: StatementNames;
  readonly #connections: Connections;
  /** Settled when the statement before has ended: a connection takes one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(client: pg.PoolClient | undefined, names: StatementNames, connections: Connections) {
    this.#client = client;
    this.#names = names;
    this.#connections = connections;
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return (await this.#query(statement, values)).rows;
  }

  async run(statement: Statement, values: Values): Promise<number> {
    return (await this.#query(statement, values)).rowCount ?? 0;
  }

  #query(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    const client = this.#client;
    if (client === undefined) return this.#sendOnAny(statement, values);
    const sent = this.#turn.then(() => this.#send(client, statement, values));
    this.#turn = sent.catch(() => {}); // its caller hears of it
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
