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
import { ConflictError, NotUniqueError, UniqueViolation } from "../errors.ts";
import { type Connection, parametersOf, type Statement, type Values } from "../statement.ts";
import { type Dialect, type Engine, queryBuilder, type Work } from "./dialect.ts";
import { postgresContent } from "./postgres-content.ts";

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

/** Opens a pool on the database at `url`, and makes sure that it answers. */
export async function openPostgres(url: string, patienceMs: number): Promise<Engine> {
  const slots = new WeakMap<pg.ClientBase, number>();
  let nextSlot = Math.floor(Math.random() * poolSize);
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser: (oid, format) => parsers[oid] ?? pg.types.getTypeParser(oid, format) },
    onConnect: async (client) => {
      client.on("error", () => {}); // a lost connection is told by the statement that needs it
      slots.set(client, nextSlot++ % poolSize);
      await client.query(sessionSettings);
    },
  });
  pool.on("error", () => {});
  await pool.query("select 1").catch(async (error) => {
    await pool.end();
    throw error;
  });
  const names = new StatementNames();
  const statements = counterStatements(postgres);

  /** Runs `work` once, in a transaction that begins with `begin`. */
  async function once<T>(
    begin: string,
    work: (connection: Connection, client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    const client = await pool.connect();
    let broken = false;
    try {
      await client.query(begin);
      const value = await work(new PostgresConnection(client, names), client);
      await client.query("commit");
      return value;
    } catch (error) {
      await client.query("rollback").catch(() => {
        broken = true;
      });
      throw translated(error);
    } finally {
      client.release(broken);
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

  const any = new PostgresConnection(pool, names);
  return {
    dialect: postgres,
    reader: any,
    isConcurrent: true,
    transact,
    alone: async (work) => work(any), // outside a transaction block the server makes one of each statement, READ COMMITTED
    exclusively: async (work) => {
      await createLock(pool);
      return once("begin", async (connection, client) => {
        await client.query("set local statement_timeout = 0; set local lock_timeout = 0");
        await client.query("select id from migration_lock where id = 1 for update");
        return work(connection);
      });
    },
    close: () => pool.end(),
  };
}

/** The row that migrating processes lock. Two that create the table at once can collide in the catalogue; the loser looks again. */
async function createLock(pool: pg.Pool): Promise<void> {
  for (let triesLeft = 5; ; triesLeft--) {
    try {
      await pool.query("create table if not exists migration_lock (id bigint primary key)");
      await pool.query("insert into migration_lock (id) values (1) on conflict do nothing");
      return;
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
    await setTimeout(20 + Math.random() * 100);
  }
}

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

/** Runs statements one after another on one connection, or each on any of a pool. */
class PostgresConnection implements Connection {
  readonly #client: pg.Pool | pg.PoolClient;
  readonly #names: StatementNames;
  /** Settled when the statement before has ended: a connection takes one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(client: pg.Pool | pg.PoolClient, names: StatementNames) {
    this.#client = client;
    this.#names = names;
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return (await this.#query(statement, values)).rows;
  }

  async run(statement: Statement, values: Values): Promise<number> {
    return (await this.#query(statement, values)).rowCount ?? 0;
  }

  #query(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    if (this.#client instanceof pg.Pool) return this.#send(statement, values);
    const sent = this.#turn.then(() => this.#send(statement, values));
    this.#turn = sent.catch(() => {}); // its caller hears of it
    return sent;
  }

  async #send(statement: Statement, values: Values): Promise<pg.QueryArrayResult<unknown[]>> {
    const { text } = statement;
    const name = this.#names.of(text);
    try {
      return await this.#client.query<unknown[]>({
        ...(name !== undefined && { name }),
        text,
        values: parametersOf(statement, values),
        rowMode: "array",
      });
    } catch (error) {
      throw translated(error);
    }
  }
}

const uniqueViolation = "23505";
const conflicts = new Set(["40001", "40P01", "55P03"]); // serialization failure, deadlock, lock not available

function translated(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  if (error.code === uniqueViolation) return new UniqueViolation(error.constraint, error);
  return conflicts.has(error.code ?? "") ? new ConflictError(error) : error;
}
