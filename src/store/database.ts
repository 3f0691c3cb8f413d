/** Opens a database by its URL. It is read at any time and written in transactions. */
import type { Engine, PostgresPoolOptions, TransactionBody, TransactOptions } from "./engines/engine.ts";
import { indexesOf, type TableIndex } from "./lists/indexes.ts";
import { tablesOf } from "./lists/table.ts";
import { type CounterFault, correctCounters, findCounterFaults } from "./logs/counter-check.ts";
import { type Counters, counterStatements } from "./logs/counters.ts";
import { logsOf } from "./logs/log.ts";
import { createQueue, type Queue } from "./logs/queue.ts";
import { queuesOf } from "./logs/queue-session.ts";
import { SharedTotals } from "./logs/shared-totals.ts";
import { LongQueries, type ReadingCall } from "./long-queries.ts";
import { migrate, pendingMigrations, unfinishedMigrations } from "./migrate.ts";
import type { MigrateOptions, OnMigrated, PendingMigration } from "./migration.ts";
import { type Catalogue, Reader, type ReadSession } from "./read-session.ts";
import { Additions, type RowLimits } from "./row-limits.ts";
import { settingStatements } from "./settings.ts";
import { exportSnapshot } from "./snapshot/export.ts";
import type { SnapshotProgress, TableEnd } from "./snapshot/format.ts";
import { importSnapshot } from "./snapshot/import.ts";
import { countedTables } from "./snapshot/tables.ts";
import { ConflictError, DamagedError, NotUniqueError, RefusedError, StaleError } from "./sql/errors.ts";
import { observed } from "./sql/observed-connection.ts";
import { compile } from "./sql/statement.ts";
import { type DatabaseStats, measure } from "./stats.ts";
import { Writer, type WriteSession } from "./write-session.ts";

/** An open database. */
export interface Database {
  readonly dialect: string;
  readonly stats: DatabaseStats;
  /** Reads outside transactions. They see only committed data and never wait for a writer. */
  readonly read: ReadSession;
  /**
   * The same for one call. Queries that may take long run beside the event loop, in turn with those of other callers,
   * and stop when the call ends. Errors, in addition: OverloadError when too many of them wait; the reason of the
   * call's signal.
   */
  readFor(call: ReadingCall): ReadSession;
  /** Makes the next read see everything that other processes have committed by now. */
  refresh(): void;
  /**
   * Runs `body` in a transaction and returns its result once the transaction is durable. When `body` throws, the
   * transaction is rolled back. `body` may run more than once. Other transactions may wait for it, so it must wait for
   * nothing but its session. When the call ends, a transaction that has not started is cancelled, and the next
   * statement of one that has fails.
   * Errors: those of the session; that of a limit of rows; ConflictError; OverloadError when too many transactions
   * wait; UnavailableError, with `isUndecided` when the transaction may have been committed.
   */
  transact<T>(body: (session: WriteSession) => Promise<T>, options?: TransactOptions): Promise<T>;
  /** Limits from now on what transactions may add; undefined: nothing. */
  limitRows(limits: RowLimits | undefined): void;
  /** A queue, by the name of its table. */
  queue(name: string): Queue;
  /**
   * Brings the schema up to date and returns how many migrations ran. Several processes may call it at once. Errors:
   * RefusedError; ConflictError; UnavailableError.
   */
  migrate(onMigrated?: OnMigrated, options?: MigrateOptions): Promise<number>;
  /**
   * Distributes the tables of tenants among the workers of a Citus cluster, next to the first of them, and returns how
   * many were not. A table with a key that is unique among all tenants, which no shard could check, stays where it is.
   * To be called after `migrate`, by a process that then closes the database: others must be started again. Errors:
   * RefusedError where there is no Citus.
   */
  distribute(tables: readonly string[]): Promise<number>;
  /**
   * Returns the missing migrations, in order. Errors: RefusedError when a newer program has made a schema on which this
   * one cannot work. From then on transactions are refused, until this finds otherwise.
   */
  pendingMigrations(): Promise<readonly PendingMigration[]>;
  /** Returns what `migrate` leaves until no program of the release before is at work. Errors: RefusedError. */
  unfinishedMigrations(): Promise<readonly PendingMigration[]>;
  /**
   * Writes the lines of a snapshot: everything in the database, at one moment. `write` resolves when it can take the
   * next line.
   */
  exportSnapshot(write: (line: string) => Promise<void>, report: ReportProgress): Promise<readonly TableEnd[]>;
  /**
   * Imports the lines of a snapshot into a database without rows, or continues to. Errors: RefusedError when the
   * database has rows or another schema, or the snapshot is damaged.
   */
  importSnapshot(lines: AsyncIterable<string>, report: ReportProgress): Promise<readonly TableEnd[]>;
  /** Compares the counters of totals with the rows, at one moment. Not those of distributed tables. */
  findCounterFaults(): Promise<readonly CounterFault[]>;
  /**
   * Makes these counters equal the rows, beside running servers. Returns how many were wrong. On SQLite, transactions
   * of this Database must not run at the same time: they write their counters when several are committed together.
   */
  correctCounters(): Promise<number>;
  /** The server's time, in milliseconds since 1970; undefined where that is the time of this machine. */
  clock(): Promise<number | undefined>;
  /** Reads the whole database file and reports what is damaged; undefined where the server keeps the files. */
  findDamage(): Promise<readonly string[] | undefined>;
  /** The columns of every table, by its name. On PostgreSQL those of the current schema. */
  columns(): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** The indexes that the migrations of this program make, those of two phases too. */
  indexes(): readonly TableIndex[];
  /**
   * Checks within `timeoutMs` that the database can be used. One check at a time. Errors: UnavailableError,
   * RefusedError.
   */
  check(timeoutMs: number): Promise<void>;
  /** Refuses new transactions, waits for those that are running, and closes the database. */
  close(): Promise<void>;
}

type ReportProgress = (progress: SnapshotProgress) => void;

/** How to open a database. */
export interface OpenOptions {
  /**
   * How long SQLite itself may wait for a lock, which blocks the event loop; meant for commands. By default 0: a timer
   * retries instead.
   */
  readonly busyWaitMs?: number;
  /**
   * How long a transaction may wait for locks or be retried after conflicts before it fails with a ConflictError. By
   * default 5000.
   */
  readonly lockTimeoutMs?: number;
  /** Whether a missing SQLite file is refused. By default it is created. */
  readonly mustExist?: boolean;
  /** How many long queries of calls run at once. With 0, the default, they run like any other. */
  readonly maxLongQueries?: number;
  /** Whether the durations of `stats` are recorded. By default they are not. */
  readonly isMeasured?: boolean;
  /** A query that reads at most this many rows is not long. By default 500, which take less than a millisecond. */
  readonly fewRows?: number;
  /** Of PostgreSQL. */
  readonly pool?: PostgresPoolOptions;
}

const defaultLockTimeoutMs = 5000;
const defaultFewRows = 500;
/** How often a transaction runs again because a row that it had not locked was changed. */
const maxStaleRuns = 20;

/**
 * Opens `sqlite:PATH` (the file and its folder are created when missing), `sqlite::memory:` or `postgres://…`.
 * Errors: UnavailableError, RefusedError.
 */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const engine = await openEngine(url, options);
  const { dialect } = engine;
  const catalogue = {
    table: tablesOf(dialect),
    log: logsOf(dialect),
    queue: queuesOf(dialect),
    counters: counterStatements(dialect),
    locksRows: engine.isConcurrent,
    settings: settingStatements(dialect),
  };
  let limits: RowLimits | undefined;
  let refusal: RefusedError | undefined;
  let running = 0;
  let idle: PromiseWithResolvers<void> | undefined;
  let closing: Promise<void> | undefined;

  /** Runs a transaction that closing waits for. */
  async function tracked<T>(start: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new Error("the database is closed");
    if (refusal !== undefined) throw refusal;
    running++; // not a Set, which may hold deleted entries for long: see http/http2/short-map.ts
    try {
      return await start();
    } finally {
      running--;
      if (running === 0) idle?.resolve();
    }
  }

  async function finished(): Promise<void> {
    if (running === 0) return;
    idle = Promise.withResolvers();
    await idle.promise;
  }

  const { commits, stats } = engine;
  const { read: reads, transaction: transactions, long_query: longs } = stats.durations;
  const measuredReads = options.isMeasured ? reads : undefined;
  const reader = observed(engine.reader, undefined, measuredReads);
  const totals = new SharedTotals(reader, commits);
  const read = new Reader(catalogue, reader, { commits, totals });
  const additions = (counters: Counters) =>
    limits && new Additions(limits, (table, measure, root) => read.total(table, measure, [root]), counters);
  const longQueries =
    engine.longQueries && new LongQueries(engine.longQueries, options.fewRows ?? defaultFewRows, longs);
  if (longQueries !== undefined) stats.longQueries = () => longQueries.counts;
  return {
    dialect: dialect.name,
    stats,
    read,
    readFor: (call) =>
      longQueries === undefined && call.statements === undefined && call.pause === undefined
        ? read
        : new Reader(catalogue, observed(engine.readerFor?.(call) ?? engine.reader, call.statements, measuredReads), {
            commits,
            totals,
            call,
            longQueries,
          }),
    refresh: () => engine.refresh?.(),
    transact: (body, options = {}) =>
      tracked(async () =>
        measure(transactions, () => engine.transact(inSession(engine, catalogue, body, additions, options), options)),
      ),
    limitRows: (given) => {
      limits = given;
    },
    queue: (name) => createQueue({ ...engine, autocommit: (body) => tracked(() => engine.autocommit(body)) }, name),
    migrate: (onMigrated, options) => migrate(engine, onMigrated, options),
    distribute: async (tables) => {
      if (engine.distribute === undefined) throw new RefusedError("only PostgreSQL with Citus distributes tables");
      const unique = indexesOf(dialect).filter(({ isUnique }) => isUnique);
      const isShared = (name: string) =>
        unique.some(({ table, columns }) => table === name && !columns.includes("parent") && !columns.includes("uid"));
      return engine.distribute(tables.filter((table) => !isShared(table)));
    },
    async pendingMigrations() {
      try {
        const pending = await pendingMigrations(engine);
        refusal = undefined;
        return pending;
      } catch (error) {
        if (error instanceof RefusedError) refusal = error;
        throw error;
      }
    },
    unfinishedMigrations: () => unfinishedMigrations(engine),
    exportSnapshot: (write, report) => exportSnapshot(engine, write, report),
    importSnapshot: (lines, report) => importSnapshot(engine, lines, report),
    findCounterFaults: () =>
      engine.snapshot(async (connection) =>
        findCounterFaults(dialect, connection, await countedTables(dialect, connection)),
      ),
    correctCounters: () =>
      engine.exclusively(async (connection) =>
        correctCounters(dialect, connection, await countedTables(dialect, connection)),
      ),
    clock: async () => {
      if (dialect.clock === undefined) return undefined;
      const [row] = await engine.reader.rows(compile(dialect.query, dialect.clock), {});
      return row![0] as number;
    },
    findDamage: async () => engine.findDamage?.(),
    columns: () => columnsOfTables(engine),
    indexes: () => indexesOf(dialect),
    check: (timeoutMs) => engine.check(timeoutMs),
    close: () => {
      closing ??= finished().then(() => engine.close());
      return closing;
    },
  };
}

async function columnsOfTables({ dialect, reader }: Engine): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const tables = new Map<string, Set<string>>();
  for (const [table, column] of await reader.rows(compile(dialect.query, dialect.columns), {})) {
    const columns = tables.get(table as string) ?? new Set();
    tables.set(table as string, columns.add(column as string));
  }
  return tables;
}

/** Loads only the driver that is used, to save the memory of the other. */
async function openEngine(
  url: string,
  { busyWaitMs = 0, lockTimeoutMs = defaultLockTimeoutMs, mustExist = false, maxLongQueries = 0, pool }: OpenOptions,
): Promise<Engine> {
  if (url.startsWith("sqlite:")) {
    const { openSqlite } = await import("./engines/sqlite/engine.ts");
    return openSqlite(url.slice("sqlite:".length), { busyWaitMs, lockTimeoutMs, mustExist, maxLongQueries });
  }
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import("./engines/postgres/engine.ts");
    return openPostgres(url, { lockTimeoutMs, maxLongQueries, pool });
  }
  throw new Error("a database is sqlite:PATH or postgres://…");
}

/**
 * Runs `body` with a new session each time. Throws the error of a failed statement, which may call for another run,
 * even where `body` hides it.
 */
function inSession<T>(
  { isConcurrent }: Engine,
  catalogue: Catalogue,
  body: (session: WriteSession) => Promise<T>,
  additionsOf: (counters: Counters) => Additions | undefined,
  { call, isUnlimited = false }: TransactOptions,
): TransactionBody<T> {
  let staleRuns = 0;
  return async (connection, counters, mayCollide) => {
    call?.throwIfAborted();
    const additions = isUnlimited ? undefined : additionsOf(counters);
    const session = new Writer(catalogue, connection, counters, { call, checksNames: !mayCollide, additions });
    try {
      const value = await body(session);
      await additions?.check();
      if (session.failure !== undefined) throw session.failure; // `body` has caught it, but the transaction has failed
      return value;
    } catch (error) {
      const { failure } = session;
      if (failure instanceof ConflictError || failure instanceof DamagedError) throw failure;
      // Another transaction may have changed the row since this one read it.
      if (isConcurrent && failure instanceof StaleError && staleRuns++ < maxStaleRuns) throw new ConflictError(failure);
      throw mayCollide && failure instanceof NotUniqueError ? failure : error;
    } finally {
      session.end();
    }
  };
}
