/**
 * PostgreSQL through a pool of connections. Transactions run concurrently. By default they are READ COMMITTED and lock
 * the rows that they rely on; those that are SERIALIZABLE need no locks among each other. A transaction that fails with
 * a conflict runs again.
 * Query plans depend on the text of the statements, not on statistics: scans that no statement should use are disabled,
 * and one generic plan serves all values of a statement.
 *
 * It uses only features that CockroachDB has, too: no advisory locks, no LISTEN.
 */

import { setTimeout } from "node:timers/promises";
import { PostgresAdapter, PostgresQueryCompiler, sql } from "kysely";
import pg from "pg";
import { Counters, counterStatements } from "../../logs/counters.ts";
import { type Dialect, queryBuilder } from "../../sql/dialect.ts";
import { ConflictError, NotUniqueError, UnavailableError } from "../../sql/errors.ts";
import type { SqlConnection } from "../../sql/statement.ts";
import { DatabaseStats } from "../../stats.ts";
import type { Engine, PostgresPoolOptions, TransactingCall, TransactionBody, TransactOptions } from "../engine.ts";
import { distribute, distributedDialect } from "./citus.ts";
import { ConnectionLimiter } from "./connection-limiter.ts";
import { endsConnection, translated } from "./errors.ts";
import { postgresContent } from "./full-text.ts";
import { beginShared, GroupCommit } from "./group-commit.ts";
import { ConnectionPool } from "./pool.ts";
import { queryAlone, SharedConnection, sharedConnections } from "./shared-connection.ts";
import { TransactionConnection } from "./transaction-connection.ts";

/** The dialect of PostgreSQL. An expression over a column has the column's value and no index. */
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
  joined: (rows) => sql`select string_agg(b.packed, ''::bytea) from (${rows}) as b`,
  plain: (column, type) => (type === "text" ? sql`(${column} || '')` : sql`(${column} + 0)`),
  elements: (json) => sql`json_array_elements(${json}::json) as r(value)`,
  texts: (json) => sql`json_array_elements_text(${json}::json) as r(value)`,
  isIn: (column, type, json) =>
    sql<boolean>`${column} = any(array(select value::${sql.raw(type === "text" ? "text" : "bigint")} from json_array_elements_text(${json}::json)))`,
  // `offset 0` keeps the planner from joining the table in another order than that of the elements.
  eachOf: (r, table, uids, _any, root) => {
    const atUid = sql`i.uid = u.uid${root === undefined ? sql`` : sql` and i.root = ${root}`}`;
    return sql`${r} cross join lateral (${uids}) as u cross join lateral (select * from ${sql.table(table)} as i where ${atUid} offset 0) as t`;
  },
  isDistributed: () => false,
  ...postgresContent,
  skipLocked: sql`for update skip locked`,
  locks: { hold: sql`for key share`, change: sql`for no key update`, removal: sql`for update` },
  clustered: sql``,
  boundsChildren: true,
  columns: sql`select table_name, column_name from information_schema.columns where table_schema = current_schema()`,
  catalogue: sql`select c.table_name, c.column_name, c.data_type, coalesce(k.ordinal_position, 0)::int
    from information_schema.columns as c
    join information_schema.tables as t using (table_schema, table_name)
    left join information_schema.table_constraints as p
      on p.table_schema = c.table_schema and p.table_name = c.table_name and p.constraint_type = 'PRIMARY KEY'
    left join information_schema.key_column_usage as k
      on k.constraint_schema = p.constraint_schema and k.constraint_name = p.constraint_name
      and k.table_name = c.table_name and k.column_name = c.column_name
    where c.table_schema = current_schema() and t.table_type = 'BASE TABLE'`,
  clock: sql`select cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
  tableExists: (name) =>
    sql`select 1 from information_schema.tables where table_schema = current_schema() and table_name = ${name}`,
};

/** What a command or a test needs. */
export const defaultPool: PostgresPoolOptions = {
  connections: 24,
  maxWaiting: 1000,
  waitMs: 2000,
  preparedStatements: "auto",
};

/** How to open a database. */
export interface PostgresOptions {
  readonly lockTimeoutMs: number;
  /** At most a quarter of the connections serve long queries. */
  readonly maxLongQueries: number;
  readonly pool?: PostgresPoolOptions | undefined;
}

/**
 * Opens a pool on the database at `url`, and checks that it can be used. Its connections are divided among the kinds of
 * work, so that none of them waits for another. Errors: UnavailableError, RefusedError.
 */
export async function openPostgres(
  url: string,
  { lockTimeoutMs, maxLongQueries, pool: options = defaultPool }: PostgresOptions,
): Promise<Engine> {
  const { connections, maxWaiting: waiting, waitMs } = options;
  const size = Math.min(maxLongQueries, Math.floor(connections / 4));
  const alone = { running: Math.max(1, Math.floor(connections / 8)), waiting, waitMs };
  const others = size + alone.running + sharedConnections;
  const transactions = new ConnectionLimiter({ running: Math.max(1, connections - others), waiting, waitMs });
  const pool = await ConnectionPool.open(url, options);
  const reader = new SharedConnection(pool, new ConnectionLimiter(alone));
  const { distributedTables } = pool;
  const dialect = distributedTables.size > 0 ? distributedDialect(postgres, distributedTables) : postgres;
  const statements = counterStatements(dialect);
  const stats = new DatabaseStats();
  stats.connections = () => {
    const { total, idle } = pool.counts;
    return { used: total - idle, idle, max: connections, waiting: transactions.waiting };
  };

  /**
   * Runs `body` once, in a transaction that begins with `begin`. Errors: those of the statements, translated; an
   * UnavailableError with `isUndecided` when it is unknown whether it was committed.
   */
  async function once<T>(
    begin: string,
    call: TransactingCall | undefined,
    body: (connection: SqlConnection, client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    const client = await pool.take();
    const connection = new TransactionConnection(client, pool, begin, call);
    let isBroken = false;
    try {
      const value = await body(connection, client);
      await connection.commit();
      await connection.end();
      stats.commits++;
      return value;
    } catch (error) {
      // What failed first was sent before `body` threw.
      const failure = translated(await connection.settle(error));
      isBroken = endsConnection(failure);
      if (!isBroken)
        await connection.rollback().catch(() => {
          isBroken = true;
        });
      throw failure;
    } finally {
      client.release(isBroken);
    }
  }

  const groupCommit = new GroupCommit(statements, waiting, (call, body) =>
    transactions.run(() =>
      once(beginShared, call, async (connection, client) => {
        const counters = new Counters(statements);
        await body(connection, counters);
        await counters.write(connection, pool.slotOf(client));
      }),
    ),
  );

  async function transactAlone<T>(
    body: TransactionBody<T>,
    { isSerializable = false, call, payer }: TransactOptions,
  ): Promise<T> {
    const begin = isSerializable ? "begin isolation level serializable" : "begin isolation level read committed";
    const giveUpAt = performance.now() + lockTimeoutMs;
    for (let attempt = 0, collided = false; ; attempt++) {
      try {
        const run = () =>
          once(begin, call, async (connection, client) => {
            const counters = new Counters(statements);
            const value = await body(connection, counters, !collided);
            await counters.write(connection, pool.slotOf(client));
            return value;
          });
        return await transactions.run(run, payer);
      } catch (error) {
        if (error instanceof NotUniqueError && !collided) collided = true;
        else if (!(error instanceof ConflictError) || performance.now() > giveUpAt) throw error;
        stats.conflicts++;
      }
      await setTimeout(Math.random() * Math.min(2 ** attempt, 100));
    }
  }

  async function exclusively<T>(
    body: (connection: SqlConnection) => Promise<T>,
    { lockWaitMs = 0 }: { readonly lockWaitMs?: number } = {},
  ): Promise<T> {
    await createLock(reader);
    return once("begin", undefined, async (connection, client) => {
      await client.query(
        "set local statement_timeout = 0; set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0",
      );
      await client.query("select id from migration_lock where id = 1 for update");
      await client.query(`set local lock_timeout = ${lockWaitMs}`);
      return body(connection);
    });
  }

  return {
    dialect,
    stats,
    reader,
    readerFor: (call) => reader.for(call),
    longQueries: size === 0 ? undefined : { size, rows: async (...query) => (await queryAlone(pool, ...query)).rows },
    isConcurrent: true,
    async transact(body, options) {
      const alone = () => transactAlone(body, options);
      const { commitsWith, call } = options;
      const value = await (commitsWith === undefined ? alone() : groupCommit.transact(commitsWith, body, call, alone));
      stats.transactions++;
      return value;
    },
    // Outside a transaction block, each statement is a READ COMMITTED transaction.
    autocommit: async (body) => body(reader),
    exclusively,
    ...(!pool.isPooled && {
      buildIndex: (table: string, name: string, create: string) => buildIndex(pool, table, name, create),
    }),
    distribute: (tables) => exclusively((connection) => distribute(dialect, connection, tables, distributedTables)),
    snapshot: (body) => once(beginSnapshot, undefined, body),
    check: (timeoutMs) => pool.check(timeoutMs),
    close: async () => {
      reader.close();
      await pool.close();
    },
  };
}

/** On a connection of its own, whose settings are gone with it. What a pooler keeps would be the next client's. */
async function buildIndex(pool: ConnectionPool, table: string, name: string, create: string): Promise<void> {
  const client = await pool.take();
  const isInvalid = async () => {
    const found = "select from pg_index where not indisvalid and indexrelid = to_regclass($1)";
    return (await client.query(found, [pg.escapeIdentifier(name)])).rowCount !== 0;
  };
  try {
    await client.query("set statement_timeout = 0; set lock_timeout = 0");
    do {
      // Of a process that was killed, unless another one is building it: that has the lock.
      await client.query(`begin; lock table ${pg.escapeIdentifier(table)} in share update exclusive mode`);
      if (await isInvalid()) await client.query(`drop index ${pg.escapeIdentifier(name)}`);
      await client.query("commit");
      await client.query(create.replace(/^create index /, "create index concurrently if not exists "));
    } while (await isInvalid());
  } catch (error) {
    throw translated(error);
  } finally {
    client.release(true);
  }
}

/**
 * Creates the row that migrations lock. Processes that create the table at once may collide in the catalogue, so it is
 * retried.
 */
async function createLock(connection: SqlConnection): Promise<void> {
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

const beginSnapshot =
  "begin isolation level repeatable read read only; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0";
const createLockTable = { text: "create table if not exists migration_lock (id bigint primary key)", slots: [] };
const addLock = { text: "insert into migration_lock (id) values (1) on conflict do nothing", slots: [] };
