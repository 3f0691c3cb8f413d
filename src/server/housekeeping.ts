/** Removes what has expired, a few rows at a time and once a minute, so that nothing waits for it. Servers on one database may do it at once. */
import { setTimeout } from "node:timers/promises";
import type { Database, TableSpec } from "../store/index.ts";

/** What {@link startHousekeeping} needs. */
export interface HousekeepingOptions {
  readonly database: Database;
  /** Tables whose rows expire, each with a facet `expire_us`. */
  readonly tables: readonly TableSpec[];
  /** Other work of the same kind; it does a little and says whether there is more. */
  readonly others: readonly (() => Promise<boolean>)[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Told of failures; the next minute tries again. */
  report(error: unknown): void;
}

/** Ends the housekeeping; what is under way is finished. */
export type StopHousekeeping = () => Promise<void>;

const intervalMs = 60_000;
const batchSize = 100;
const pauseMs = 20;

/** Starts it. */
export function startHousekeeping({ database, tables, others, now, report }: HousekeepingOptions): StopHousekeeping {
  const works = [...tables.map((table) => () => removeExpired(database, table, now())), ...others];
  let running = Promise.resolve();
  let isStopped = false;

  async function cleanUp(): Promise<void> {
    for (const work of works) {
      while (!isStopped && (await work())) await setTimeout(pauseMs);
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

/** Removes expired rows, the oldest first; whether there may be more. */
export async function removeExpired(database: Database, table: TableSpec, nowMs: number): Promise<boolean> {
  const first = { orderBy: [{ column: "expire_us", descending: false }], skip: 0 };
  const isExpired = (row: { facets: Readonly<Record<string, unknown>> }) =>
    Number(row.facets.expire_us) <= nowMs * 1000;
  if (!(await database.read.list(table, { ...first, limit: 1 })).some(isExpired)) return false;
  return database.transact(async (session) => {
    const expired = (await session.list(table, { ...first, limit: batchSize })).filter(isExpired);
    for (const { uid } of expired) await session.remove(table, uid);
    return expired.length === batchSize;
  });
}
