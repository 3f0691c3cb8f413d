/**
 * SQLite through node:sqlite, with a write-ahead log. One connection writes and one reads, so that no read sees or
 * waits for an open transaction. Others, on threads, checkpoint and run long queries. Statements run synchronously;
 * none stays open across an await.
 *
 * As with `synchronous=FULL`, a commit is on disk before it is acknowledged or read. SQLite runs with
 * `synchronous=NORMAL`, and the log is flushed here, because SQLite would block the event loop meanwhile.
 */

import { closeSync, fdatasync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { SqliteAdapter, SqliteQueryCompiler, sql } from "kysely";
import { counterStatements } from "../../logs/counters.ts";
import { type Dialect, queryBuilder } from "../../sql/dialect.ts";
import { ConflictError, RefusedError } from "../../sql/errors.ts";
import { DatabaseStats } from "../../stats.ts";
import type { Engine } from "../engine.ts";
import { integrityFaults } from "./backup.ts";
import { Checkpoints, logBytes } from "./checkpoints.ts";
import { SnapshotConnection, SqliteConnection } from "./connection.ts";
import { isNoDatabase, translated } from "./errors.ts";
import { inMemory, logIsGone, prepareFile } from "./file.ts";
import { sqliteContent } from "./full-text.ts";
import { GroupCommit } from "./group-commit.ts";
import { Readers } from "./readers.ts";

/**
 * The dialect of SQLite. A `+` before a column keeps its value and rules out its indexes; CROSS JOIN fixes the order of
 * a join.
 */
export const sqlite: Dialect = {
  name: "sqlite",
  query: queryBuilder(new SqliteAdapter(), new SqliteQueryCompiler()),
  types: { text: sql`text`, integer: sql`integer`, texts: sql`text`, search: sql`text`, bytes: sql`blob` },
  // A subquery with a limit is not flattened: it is a co-routine, whose rows are concatenated in their order.
  joined: (rows) => sql`select cast(group_concat(b.packed, '') as blob) from (${rows}) as b`,
  // Called for one row in 1,024: a call of a JavaScript function costs as much as reading a row.
  goesOn: sql<boolean>`(random() & 1023 or goes_on())`,
  plain: (column) => sql`+${column}`,
  elements: (json) => sql`json_each(${json}) as r`,
  texts: (json) => sql`json_each(${json}) as r`,
  isIn: (column, _type, json) => sql<boolean>`${column} in (select value from json_each(${json}))`,
  isDistributed: () => false,
  eachOf: (r, table, uids, any) => sql`${r} cross join ${sql.table(table)} as t on ${any} and t.uid in (${uids})`,
  ...sqliteContent,
  skipLocked: sql``,
  locks: { hold: sql``, change: sql``, removal: sql`` },
  clustered: sql`without rowid`,
  boundsChildren: false,
  columns: sql`select t.name, c.name from sqlite_master as t join pragma_table_info(t.name) as c where t.type = 'table'`,
  catalogue: sql`select t.name, c.name, c.type, c.pk from pragma_table_list as t join pragma_table_info(t.name) as c
    where t.type = 'table' and t.schema = 'main' and t.name not like 'sqlite\\_%' escape '\\'`,
  tableExists: (name) => sql`select 1 from sqlite_master where type = 'table' and name = ${name}`,
};

/** How long opening waits for another process that opens or recovers the file. Nothing is served yet. */
const openWaitMs = 5000;
/** How long a reader waits, which happens only while another process recovers the log after a crash. */
const readerWaitMs = 1000;
/** The page cache for reading. With SQLite's default of 2 MB, reading a row takes twice as long. */
const readerCacheKib = 64 * 1024;
/**
 * The page cache for writing. A commit that splits a page scans all of it: with the size for reading, creates take 2 %
 * longer.
 */
const writerCacheKib = 16 * 1024;
/** The pages in the log that make a commit run SQLite's own checkpoint, if the thread has not done it by then. */
const checkpointPages = 12_000;

/** Checks that the file can be read. */
const readable = { text: "select 1 from sqlite_master limit 1", slots: [] };
/** Checks that the file can be written, by writing a page unchanged. */
const writable = { text: "pragma user_version = 0", slots: [] };

/** How to open a file. */
export interface SqliteOptions {
  readonly busyWaitMs: number;
  readonly lockTimeoutMs: number;
  readonly mustExist: boolean;
  readonly maxLongQueries: number;
}

/**
 * Opens the database file at `location`, and creates it and its folder if necessary. `:memory:` is a file that is
 * removed at the end.
 * Errors: UnavailableError, RefusedError.
 */
export function openSqlite(
  location: string,
  { busyWaitMs, lockTimeoutMs, mustExist, maxLongQueries }: SqliteOptions,
): Engine {
  const file = prepareFile(location, mustExist);
  const { path } = file;
  const { writer, reader } = connectBoth(path, busyWaitMs);
  if (file.isAlone && writer.prepare("select 1 from sqlite_master").get() === undefined) {
    reader.close();
    writer.close();
    throw logIsGone(path, "the file has no tables");
  }
  const reading = new SnapshotConnection(reader, writer);
  const writing = new SqliteConnection(writer);
  const stats = new DatabaseStats();
  const checkpoints = new Checkpoints(writer, path, stats.checkpoints);
  stats.file = { path, logBytes: () => checkpoints.logBytes() };
  const log = new LogFile(writer);
  const queue = new GroupCommit(writer, writing, counterStatements(sqlite), lockTimeoutMs, {
    needsPause: () => checkpoints.needsPause,
    pause: () => checkpoints.restartLog(),
    beforeCommit: () => reading.hold(),
    sync: () => {
      checkpoints.committed();
      return location === inMemory ? Promise.resolve() : log.sync();
    },
    committed(units) {
      stats.commits++;
      stats.transactions += units;
    },
    isLocked: () => {
      stats.conflicts++;
    },
    afterCommit: () => reading.release(),
  });
  const readers =
    maxLongQueries === 0
      ? undefined
      : new Readers({
          path,
          size: maxLongQueries,
          readable: (isIdle) => checkpoints.readable(isIdle),
          durable: () => queue.durable(),
        });
  return {
    dialect: sqlite,
    stats,
    reader: reading,
    longQueries: readers,
    commits: reading.commits,
    refresh: () => reading.renew(),
    isConcurrent: false,
    transact: (body, { payer }) => queue.transact(body, payer),
    autocommit: (body) => queue.transact(async (connection) => body(connection)),
    async exclusively(body) {
      for (;;) {
        try {
          return await queue.transact(body);
        } catch (error) {
          if (!(error instanceof ConflictError)) throw error; // another process is at it
        }
      }
    },
    async snapshot(body) {
      using database = connect(path, writerCacheKib);
      database.exec("begin");
      return await body(new SqliteConnection(database));
    },
    async findDamage() {
      using database = connect(path, writerCacheKib);
      return integrityFaults(database);
    },
    async check() {
      const damage = reading.damage ?? writing.damage ?? readers?.damage;
      if (damage !== undefined) throw damage;
      reading.rows(readable, {});
      if (!queue.isRefused) return;
      await queue.transact(async (connection) => connection.run(writable, {}));
      queue.forgetRefusal();
    },
    close: async () => {
      await readers?.close();
      reading.release();
      reader.close();
      log.close();
      await checkpoints.close();
      writer.close();
      file.remove();
    },
  };
}

function connectBoth(
  path: string,
  busyWaitMs: number,
): { readonly writer: DatabaseSync; readonly reader: DatabaseSync } {
  try {
    const writer = connect(path, writerCacheKib);
    writer.exec(`pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = ${busyWaitMs};
      pragma wal_autocheckpoint = ${checkpointPages}; pragma journal_size_limit = ${logBytes}`);
    const reader = connect(path, readerCacheKib);
    reader.exec(`pragma query_only = 1; pragma busy_timeout = ${readerWaitMs}`);
    return { writer, reader };
  } catch (error) {
    if (isNoDatabase(error)) throw new RefusedError(`${path} is not a SQLite database`, { cause: error });
    throw translated(error);
  }
}

function connect(path: string, cacheKib: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: openWaitMs, enableDoubleQuotedStringLiterals: false });
  // Statement journals stay in memory, too: as a file, one costs more than the statement.
  database.exec(`pragma cache_size = -${cacheKib}; pragma temp_store = memory`);
  return database;
}

/** The file of the write-ahead log. */
class LogFile {
  readonly #writer: DatabaseSync;
  #descriptor: number | undefined;

  /**
   * @param writer a connection to the database. The file exists from its first commit until the last connection is
   * closed.
   */
  constructor(writer: DatabaseSync) {
    this.#writer = writer;
  }

  /** Flushes what has been committed to disk. */
  async sync(): Promise<void> {
    // Windows flushes only files that are open for writing.
    this.#descriptor ??= openSync(`${this.#writer.location()}-wal`, "r+");
    await flush(this.#descriptor);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}

const flush = promisify(fdatasync);
