/** What a database counts about itself: plain numbers, from when it was opened. */
import type { Awaitable } from "../awaitable.ts";
import { durationBoundaries, Histogram } from "../histogram/index.ts";

/** Connections of a pool. */
export interface ConnectionStats {
  readonly used: number;
  readonly idle: number;
  readonly max: number;
  /** Transactions that wait for one. */
  readonly waiting: number;
}

/** The counts of a database. */
export class DatabaseStats {
  /** Transactions, as `Database.transact` has run them. */
  transactions = 0;
  /** Commits: one makes several transactions durable. */
  commits = 0;
  /** How often a transaction ran again after a conflict, or found the file locked by another process. */
  conflicts = 0;
  /** How long they took, in seconds: reads outside transactions, transactions with their commit, long queries. */
  readonly durations = {
    read: new Histogram(durationBoundaries),
    transaction: new Histogram(durationBoundaries),
    long_query: new Histogram(durationBoundaries),
  };
  /** How long checkpoints of the write-ahead log took, in seconds. Of SQLite. */
  readonly checkpoints = new Histogram(durationBoundaries);
  /** The file of the database, and the size of its write-ahead log. Of SQLite. */
  file: { readonly path: string; logBytes(): number } | undefined;
  /** Of PostgreSQL. */
  connections: (() => ConnectionStats) | undefined;
  longQueries: () => { readonly running: number; readonly waiting: number } = () => ({ running: 0, waiting: 0 });
}

/** Does work and records how long it took, unless it throws at once. */
export function measure<T>(durations: Histogram, work: () => Awaitable<T>): Awaitable<T> {
  const startMs = performance.now();
  const record = () => durations.record((performance.now() - startMs) / 1000);
  const value = work();
  if (value instanceof Promise) value.then(record, record);
  else record();
  return value;
}
