/** A database: opened by address, read at any time, written in transactions. */
import { counterStatements } from "./counters.ts";
import type { Engine, Work } from "./dialect/dialect.ts";
import { ConflictError, NotUniqueError } from "./errors.ts";
import { logsOf } from "./log.ts";
import { migrate, pendingMigrations } from "./migrate.ts";
import { createQueue, type Queue, queuesOf } from "./queue.ts";
import { type Catalogue, Reader, type ReadSession } from "./read-session.ts";
import { settingStatements } from "./settings.ts";
import { tablesOf } from "./table.ts";
import { type StopSignal, Writer, type WriteSession } from "./write-session.ts";

/** An open database. */
export interface Database {
  readonly dialect: string;
  /** Reads outside any transaction. They see only what is committed and never wait for a writer. */
  readonly read: ReadSession;
  /** For what may have been asked since the last read: it sees what other processes have committed until now. */
  refresh(): void;
  /**
   * Runs `work` in a transaction and gives its result once that is durable; when it throws, nothing it did stays. It may run more than once, and
   * others wait for it: it waits for nothing but its session. An aborted signal drops work that has not started, and fails its next statement.
   * Errors: those of the session; ConflictError; UnavailableError, then what it did stays only where that says so.
   */
  transact<T>(work: (session: WriteSession) => Promise<T>, options?: { signal?: StopSignal }): Promise<T>;
  /** A queue, by the name of its table. */
  queue(name: string): Queue;
  /** Brings the schema up to date; how many migrations ran. Safe when several processes do it at once. */
  migrate(): Promise<number>;
  /** How many migrations are missing. Errors: the database is newer than this program. */
  pendingMigrations(): Promise<number>;
  /** Whether it can be used now, told within `timeoutMs`; asked once at a time. Errors: UnavailableError, RefusedError. */
  check(timeoutMs: number): Promise<void>;
  /** Finishes the work under way, takes no more, closes. */
  close(): Promise<void>;
}

/** How to open. */
export interface OpenOptions {
  /**
   * How long SQLite itself may wait for a lock, which stops the event loop: for commands. By default it does not, and a timer tries again.
   */
  readonly busyWaitMs?: number;
  /** How long work may wait for another process's lock, or lose against others, before it fails with a ConflictError. */
  readonly patienceMs?: number;
  /** Whether a SQLite file that is missing is refused; by default it is created. */
  readonly mustExist?: boolean;
}

const defaultPatienceMs = 5000;

/** Opens `sqlite:PATH` (created when missing, with its folder), `sqlite::memory:` or `postgres://…`. Errors: UnavailableError, RefusedError. */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const engine = await openEngine(url, options);
  const { dialect } = engine;
  const catalogue = {
    table: tablesOf(dialect),
    log: logsOf(dialect),
    queue: queuesOf(dialect),
    counters: counterStatements(dialect),
    settings: settingStatements(dialect),
  };
  let running = 0;
  let idle: PromiseWithResolvers<void> | undefined;
  let closing: Promise<void> | undefined;

  /** Closing waits for it. */
  async function tracked<T>(start: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new Error("the database is closed");
    running++; // a number: what has gone from a Set may long be kept by it, see short-map.ts
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

  return {
    dialect: dialect.name,
    read: new Reader(catalogue, engine.reader, undefined, engine.commits),
    refresh: () => engine.refresh?.(),
    transact: (work, { signal } = {}) => tracked(() => engine.transact(inSession(engine, catalogue, work, signal))),
    queue: (name) => createQueue({ ...engine, alone: (work) => tracked(() => engine.alone(work)) }, name),
    migrate: () => migrate(engine),
    pendingMigrations: () => pendingMigrations(engine),
    check: (timeoutMs) => engine.check(timeoutMs),
    close: () => {
      closing ??= finished().then(() => engine.close());
      return closing;
    },
  };
}

/** Loads only the driver that is used: the other's memory would be held for nothing. */
async function openEngine(
  url: string,
  { busyWaitMs = 0, patienceMs = defaultPatienceMs, mustExist = false }: OpenOptions,
): Promise<Engine> {
  if (url.startsWith("sqlite:")) {
    const { openSqlite } = await import("./dialect/sqlite.ts");
    return openSqlite(url.slice("sqlite:".length), { busyWaitMs, patienceMs, mustExist });
  }
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import("./dialect/postgres.ts");
    return openPostgres(url, patienceMs);
  }
  throw new Error("a database is sqlite:PATH or postgres://…");
}

/** Gives `work` a session in each of its runs, and lets an error of the database that calls for another run come through. */
function inSession<T>(
  { isConcurrent }: Engine,
  catalogue: Catalogue,
  work: (session: WriteSession) => Promise<T>,
  signal: StopSignal | undefined,
): Work<T> {
  let mayRunAgain = isConcurrent;
  return async (connection, counters) => {
    signal?.throwIfAborted();
    const session = new Writer(catalogue, connection, counters, signal);
    try {
      const value = await work(session);
      if (session.failure !== undefined) throw session.failure; // the work hid it, but its transaction is lost
      return value;
    } catch (error) {
      const { failure } = session;
      if (failure instanceof ConflictError) throw failure;
      if (!mayRunAgain || !(failure instanceof NotUniqueError)) throw error;
      mayRunAgain = false;
      throw failure;
    } finally {
      session.end();
    }
  };
}
