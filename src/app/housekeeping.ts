/**
 * Removes expired rows once a minute, a few at a time, so that nothing waits for it. Several servers may do so on one
 * database.
 */
import { setTimeout } from "node:timers/promises";
import type { Database, TableSpec } from "../store/index.ts";

/** What {@link startHousekeeping} needs. */
export interface HousekeepingOptions {
  readonly database: Database;
  /** Tables whose rows expire, each with an indexed column `expire_us`. */
  readonly tables: readonly TableSpec[];
  /** Other work of the same kind. Each call does a little of it and returns whether there is more. */
  readonly others: readonly (() => Promise<boolean>)[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with failures; the next minute tries again. */
  report(error: unknown): void;
}

/** Ends the housekeeping once the work under way is finished. */
export type StopHousekeeping = () => Promise<void>;

const intervalMs = 60_000;
const batchSize = 100;
const pauseMs = 20;

/** Starts the housekeeping. */
export function startHousekeeping({ database, tables, others, now, report }: HousekeepingOptions): StopHousekeeping {
  const tasks = [...tables.map((table) => () => removeExpired(database, table, now())), ...others];
  let running = Promise.resolve();
  let isStopped = false;

  async function cleanUp(): Promise<void> {
    for (const task of tasks) {
      while (!isStopped && (await task())) await setTimeout(pauseMs);
    }
  }

  const timer = setInterval(() => {
    running = running.then(cleanUp).catch(report);
  }, intervalMs).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
    return running;
  };
}

/** Removes some expired rows, the oldest first. True if there may be more. */
export async function removeExpired(database: Database, table: TableSpec, nowMs: number): Promise<boolean> {
  const orderBy = [{ column: "expire_us", descending: false }];
  const isExpired = (row: { columns: Readonly<Record<string, unknown>> }) =>
    Number(row.columns.expire_us) <= nowMs * 1000;
  const oldest = await database.read.first(table, { orderBy });
  if (oldest === undefined || !isExpired(oldest)) return false;
  return database.transact(async (session) => {
    const expired = (await session.list(table, { orderBy, limit: batchSize })).filter(isExpired);
    for (const { uid } of expired) await session.remove(table, uid);
    return expired.length === batchSize;
  });
}
