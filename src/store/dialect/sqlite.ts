/**
 * SQLite through node:sqlite: write-ahead log, every commit on disk before it is acknowledged (`synchronous=FULL`), one connection that
 * writes and one that reads, so that no read sees or waits for an open transaction; a third one, on a thread, checkpoints. Every statement runs to
 * its end at once: none stays open across an await.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { SqliteAdapter, SqliteQueryCompiler, sql } from "kysely";
import { counterStatements } from "../counters.ts";
import { type Connection, parametersOf, type Statement, type Values } from "../statement.ts";
import { Checkpoints } from "./checkpoints.ts";
import { type Dialect, type Engine, queryBuilder } from "./dialect.ts";
import { GroupCommit } from "./group-commit.ts";
import { sqliteContent } from "./sqlite-content.ts";
import { translated } from "./sqlite-errors.ts";

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

/** Opens, or creates with its folder, the database file at `path`; only its owner can read it. */
export function openSqlite(path: string, busyWaitMs: number, patienceMs: number): Engine {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
  const writer = connect(path, writerCacheKib);
  writer.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = ${busyWaitMs};
    pragma wal_autocheckpoint = ${checkpointPages}; pragma journal_size_limit = ${logBytes}`);
  const reader = connect(path, readerCacheKib);
  reader.exec(`pragma query_only = 1; pragma busy_timeout = ${readerWaitMs}`);
  const reading = new SnapshotConnection(reader);
  const writing = new SqliteConnection(writer);
  const checkpoints = new Checkpoints(writer, path);
  const queue = new GroupCommit(writer, writing, counterStatements(sqlite), patienceMs, {
    beforeCommit: () => reading.renew(),
    afterCommit: () => checkpoints.committed(),
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
    close: async () => {
      reading.renew();
      reader.close();
      await checkpoints.close();
      writer.close();
    },
  };
}

function connect(path: string, cacheKib: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: openWaitMs, enableDoubleQuotedStringLiterals: false });
  // What a statement would take back is kept in memory too: as a file, it costs more than the statement.
  database.exec(`pragma cache_size = -${cacheKib}; pragma temp_store = memory`);
  return database;
}

/** Runs statements at once, each prepared on its first use. */
class SqliteConnection implements Connection {
  readonly #database: DatabaseSync;
  readonly #prepared = new WeakMap<Statement, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  rows(statement: Statement, values: Values): unknown[][] {
    try {
      return this.#prepare(statement).all(...bind(statement, values)) as unknown as unknown[][];
    } catch (error) {
      throw translated(error);
    }
  }

  run(statement: Statement, values: Values): number {
    try {
      return Number(this.#prepare(statement).run(...bind(statement, values)).changes);
    } catch (error) {
      throw translated(error);
    }
  }

  #prepare(statement: Statement): StatementSync {
    let prepared = this.#prepared.get(statement);
    if (prepared === undefined) {
      prepared = this.#database.prepare(statement.text);
      prepared.setReturnArrays(true);
      this.#prepared.set(statement, prepared);
    }
    return prepared;
  }
}

/**
 * Reads, all that is asked for in one turn of the event loop from one snapshot: a statement costs less than the locks around it. Before a commit
 * of this process the snapshot is given up, so that no read misses it and the log can start anew.
 */
class SnapshotConnection extends SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #commit: StatementSync;
  #isOpen = false;
  #version: unknown;
  #commits = 0;

  constructor(database: DatabaseSync) {
    super(database);
    this.#database = database;
    this.#begin = database.prepare("begin");
    this.#commit = database.prepare("commit");
    this.#dataVersion = database.prepare("pragma data_version");
    this.#dataVersion.setReturnArrays(true);
  }

  override rows(statement: Statement, values: Values): unknown[][] {
    this.#open();
    return super.rows(statement, values);
  }

  /** A number that changes with what is committed, by whatever connection. */
  commits(): number {
    this.#open();
    return this.#commits;
  }

  /** Gives up the snapshot. */
  renew(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#database.isTransaction) this.#commit.run();
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    setImmediate(() => this.renew());
    try {
      this.#begin.run();
      const [version] = this.#dataVersion.get() as unknown as unknown[];
      if (version !== this.#version) this.#commits++;
      this.#version = version;
    } catch (error) {
      this.renew();
      throw translated(error);
    }
  }
}

function bind(statement: Statement, values: Values): SQLInputValue[] {
  return parametersOf(statement, values) as SQLInputValue[];
}
