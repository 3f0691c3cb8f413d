/** A database: opened by address, read at any time, written in transactions. */
import { counterStatements } from "./counters.ts";
import type { Engine } from "./dialect/dialect.ts";
import { openPostgres } from "./dialect/postgres.ts";
import { openSqlite } from "./dialect/sqlite.ts";
import { ConflictError, NotUniqueError } from "./errors.ts";
import { logsOf } from "./log.ts";
import { migrate, pendingMigrations } from "./migrate.ts";
import { Reader, type ReadSession } from "./read-session.ts";
import { settingStatements } from "./settings.ts";
import { tablesOf } from "./table.ts";
import { Writer, type WriteSession } from "./write-session.ts";

/** An open database. */
export interface Database {
  readonly dialect: string;
  /** Reads outside any transaction. They see only what is committed and never wait for a writer. */
  readonly read: ReadSession;
  /**
   * Runs `work` in a transaction and gives its result once that is durable; when it throws, nothing it did stays. It may run more than once, and
   * others wait for it: it waits for nothing but its session. An aborted signal drops work that has not started, and fails its next statement.
   * Errors: those of the session; ConflictError.
   */
  transact<T>(work: (session: WriteSession) => Promise<T>, options?: { signal?: AbortSignal }): Promise<T>;
  /** Brings the schema up to date; how many migrations ran. Safe when several processes do it at once. */
  migrate(): Promise<number>;
  /** How many migrations are missing. Errors: the database is newer than this program. */
  pendingMigrations(): Promise<number>;
  /** Finishes the work under way, takes no more, closes. */
  close(): Promise<void>;
}

/** How to open. */
export interface OpenOptions {
  /**
   * How long SQLite itself may wait for a lock, which stops the event loop: for commands. By default it does not, and a timer tries again.
   */
  readonly busyWaitMs?: number;
}

/** Opens `sqlite:PATH` (created when missing, with its folder) or `postgres://…`. */
export async function openDatabase(url: string, { busyWaitMs = 0 }: OpenOptions = {}): Promise<Database> {
  const engine = await openEngine(url, busyWaitMs);
  const { dialect } = engine;
  const catalogue = {
    table: tablesOf(dialect),
    log: logsOf(dialect),
    counters: counterStatements(dialect),
    settings: settingStatements(dialect),
  };
  return {
    dialect: dialect.name,
    read: new Reader(catalogue, engine.reader),
    transact: (work, { signal } = {}) => {
      let met = false;
      return engine.transact(async (connection, counters) => {
        const session = new Writer(catalogue, connection, counters, signal);
        try {
          const value = await work(session);
          if (session.failure !== undefined) throw session.failure; // the work hid it, but its transaction is lost
          return value;
        } catch (error) {
          const { failure } = session;
          if (failure instanceof ConflictError) throw failure; // whatever the work made of it, it runs again
          if (!engine.isConcurrent || !(failure instanceof NotUniqueError) || met) throw error;
          met = true;
          throw failure;
        } finally {
          session.end();
        }
      }, signal);
    },
    migrate: () => migrate(engine),
    pendingMigrations: () => pendingMigrations(engine),
    close: () => engine.close(),
  };
}

async function openEngine(url: string, busyWaitMs: number): Promise<Engine> {
  if (url.startsWith("sqlite:")) return openSqlite(url.slice("sqlite:".length), busyWaitMs);
  if (/^postgres(ql)?:/.test(url)) return openPostgres(url);
  throw new Error("a database is sqlite:PATH or postgres://…");
}
