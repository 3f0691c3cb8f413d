/** Checks at the start that a server can be used, and how it is reached. */
import type pg from "pg";
import { RefusedError } from "../../sql/errors.ts";
import { internalsOf } from "./client-internals.ts";

/** The oldest version of PostgreSQL that is supported, as `server_version_num`. */
const minVersion = 140_000;

const described = `select current_setting('server_version_num') as number, current_setting('server_version') as version,
  current_setting('server_encoding') as encoding, current_database() as database, pg_backend_pid() as pid,
  current_setting('transaction_read_only') = 'on' as read_only,
  exists (select from pg_extension where extname = 'citus') as has_citus`;

interface Described {
  readonly number: string;
  readonly version: string;
  readonly encoding: string;
  readonly database: string;
  readonly pid: number;
  readonly read_only: boolean;
  readonly has_citus: boolean;
}

/** What is known of a server. */
export interface Server {
  /**
   * Whether a pooler such as PgBouncer stands between: each transaction may then run in another session of the server.
   */
  readonly isPooled: boolean;
  /** Whether it takes no writes, as a standby. */
  readonly isReadOnly: boolean;
  /** The tables that Citus distributes. */
  readonly distributedTables: ReadonlySet<string>;
}

/** Checks the server of a new connection. Errors: RefusedError, with what to do. */
export async function checkServer(client: pg.ClientBase): Promise<Server> {
  const { rows } = await client.query<Described>(described);
  const { number, version, encoding, database, pid, read_only: isReadOnly, has_citus: hasCitus } = rows[0]!;
  if (!(Number(number) >= minVersion))
    throw new RefusedError(`the database server has version ${version}; PostgreSQL 14 or newer is needed`);
  if (encoding !== "UTF8")
    throw new RefusedError(
      `the database ${database} has the encoding ${encoding}; create one with UTF8: create database … encoding 'UTF8' template template0`,
    );
  // A pooler makes up the process id that its clients get.
  const isPooled = internalsOf(client).processID !== pid;
  if (isPooled) await checkTransactions(client);
  return { isPooled, isReadOnly, distributedTables: hasCitus ? await distributedTables(client) : new Set() };
}

async function distributedTables(client: pg.ClientBase): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    "select logicalrelid::regclass::text as name from pg_dist_partition where partmethod = 'h'",
  );
  return new Set(rows.map(({ name }) => name));
}

async function checkTransactions(client: pg.ClientBase): Promise<void> {
  try {
    await client.query("begin");
    await client.query("rollback");
  } catch (error) {
    throw new RefusedError(
      `the pooler before the database does not allow transactions: ${(error as Error).message}; set its pool_mode to transaction or session`,
    );
  }
}
