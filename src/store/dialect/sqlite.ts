/**
 * SQLite through node:sqlite: write-ahead log, one connection that writes and one that reads, so that no read sees or waits for an open
 * transaction; a third one, on a thread, checkpoints. Every statement runs to its end at once: none stays open across an await.
 *
 * Every commit is on disk before it is acknowledged or read, as with `synchronous=FULL`; but the disk is waited for here (`synchronous=NORMAL`),
 * because SQLite would stop the event loop for as long.
 */
import { closeSync, fdatasync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { SqliteAdapter, SqliteQueryCompiler, sql } from "kysely";
import { counterStatements } from "../counters.ts";
import { RefusedError } from "../errors.ts";
import { Checkpoints } from "./checkpoints.ts";
import { type Dialect, type Engine, queryBuilder } from "./dialect.ts";
import { GroupCommit } from "./group-commit.ts";
import { SnapshotConnection, SqliteConnection } from "./sqlite-connection.ts";
import { sqliteContent } from "./sqlite-content.ts";
import { isNoDatabase, translated } from "./sqlite-errors.ts";
import { prepareFile } from "./sqlite-file.ts";

/** How SQLite says it. A `+` before a column keeps its value and hides it from the planner; CROSS JOIN keeps the order of the join. */
export const sqlite: Dialect = {
  name: "sqlite",
  query: queryBuilder(new SqliteAdapter(), new SqliteQueryCompiler()),
  types: { text: sql`text`, integer: sql`integer`, texts: sql`text`, search: sql`text`, bytes: sql`blob` },
  // What a subquery with a limit gives is added up as it comes: it is a co-routine, and cannot be made part of what is around it.
  joined: (rows) => sql`select cast(group_concat(b.packed, '') as blob) from (${rows}) as b`,
  plain: (column) => sql`+${column}`,
  elements: (json) => sql`json_each(${json}) as r`,
  texts: (json) => sql`json_each(${json}) as r`,
  isIn: (column, _type, json) => sql<boolean>`${column} in (select value from json_each(${json}))`,
  eachOf: (r, table, uids, any) => sql`${r} cross join ${sql.table(table)} as t on ${any} and t.uid in (${uids})`,
  ...sqliteContent,
  skipLocked: sql``,
  clustered: sql`without rowid`,
  tableExists: (name) => sql`select 1 from sqlite_master where type = 'table' and name = ${name}`,
};

/** Opening may wait this long for another process that opens or recovers the file; nothing is served yet. */
const openWaitMs = 5000;
/** A reader waits only while another process recovers the log after a crash. */
const readerWaitMs = 1000;
/** Page cache for reading: SQLite's default of 2 MB makes a row cost twice as much. */
const readerCacheKib = 64 * 1024;
/** Page cache for writing. A commit that has split a page looks through all of it: with as much as for reading, creates take 1.02 times as long. */
const writerCacheKib = 16 * 1024;
/** Pages in the log before a commit itself moves them to the file: what the thread for it has not done by then. */
const checkpointPages = 12_000;
/** The log's file is cut to this when it starts anew: readers that never pause make it grow. */
const logBytes = 64 * 1024 * 1024;

/** Asks whether the file can be read. */
const readable = { text: "select 1 from sqlite_master limit 1", slots: [] };
/** Writes a page of the file, to what it is: asks whether it can be written. */
const writable = { text: "pragma user_version = 0", slots: [] };

/** How to open a file. */
export interface SqliteOptions {
  readonly busyWaitMs: number;
  readonly patienceMs: number;
  readonly mustExist: boolean;
}

/** Opens, or creates with its folder, the database file at `location`, `:memory:` for one that is not kept. Errors: RefusedError. */
export function openSqlite(location: string, { busyWaitMs, patienceMs, mustExist }: SqliteOptions): Engine {
  const file = prepareFile(location, mustExist);
  const { path } = file;
  const { writer, reader } = connectBoth(path, busyWaitMs);
  const reading = new SnapshotConnection(reader, writer);
  const writing = new SqliteConnection(writer);
  const checkpoints = new Checkpoints(writer, path);
  const log = new LogFile(writer);
  const queue = new GroupCommit(writer, writing, counterStatements(sqlite), patienceMs, {
    needsPause: () => checkpoints.needsPause,
    pause: () => checkpoints.restartLog(),
    beforeCommit: () => reading.hold(),
    sync: () => {
      checkpoints.committed();
      return log.sync();
    },
    afterCommit: () => reading.release(),
  });
  return {
    dialect: sqlite,
    reader: reading,
    commits: () => reading.commits(),
    refresh: () => reading.renew(),
    isConcurrent: false,
    transact: (work) => queue.transact(work),
    alone: (work) => queue.transact(async (connection) => work(connection)),
    exclusively: (work) => queue.transact(work),
    async check() {
      reading.rows(readable, {});
      if (!queue.isRefused) return;
      await queue.transact(async (connection) => connection.run(writable, {}));
      queue.forgetRefusal();
    },
    close: async () => {
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
  // What a statement would take back is kept in memory too: as a file, it costs more than the statement.
  database.exec(`pragma cache_size = -${cacheKib}; pragma temp_store = memory`);
  return database;
}

/** The file of the write-ahead log. */
class LogFile {
  readonly #writer: DatabaseSync;
  #descriptor: number | undefined;

  /** @param writer a connection to the database. The log is there once it has committed, and stays until the last connection is closed. */
  constructor(writer: DatabaseSync) {
    this.#writer = writer;
  }

  /** Brings to disk what has been committed. */
  async sync(): Promise<void> {
    this.#descriptor ??= openSync(`${this.#writer.location()}-wal`, "r+"); // only what may be written may be flushed, on Windows
    await flush(this.#descriptor);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}

const flush = promisify(fdatasync);
