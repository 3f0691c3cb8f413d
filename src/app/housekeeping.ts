/**
 * Work in the background, a little at a time, so that nothing waits for it: once a minute rows that have ended are
 * removed. Several servers may do so on one database.
 */
import { setTimeout } from "node:timers/promises";
import type { Expiring, TableBound } from "../services/index.ts";
import type { Database, Row, TableSpec } from "../store/index.ts";

/** What {@link startHousekeeping} needs. */
export interface HousekeepingOptions {
  readonly database: Database;
  readonly bounds: readonly TableBound[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with failures; the next minute tries again. */
  report(error: unknown): void;
}

/** Ends the work once what is under way is finished. */
type StopTasks = () => Promise<void>;

/** A piece of work. It returns whether it should run again at once. */
type Task = () => Promise<boolean>;

/** When tasks run. */
export interface TaskTimes {
  readonly intervalMs: number;
  /** Whether they run at the start, too. */
  readonly isAtOnce?: boolean;
}

const intervalMs = 60_000;
const batchSize = 100;
const pauseMs = 20;

/** Starts the housekeeping. */
export function startHousekeeping({ database, bounds, now, report }: HousekeepingOptions): StopTasks {
  const tasks = bounds.flatMap((bound) => {
    if ("expiring" in bound) return [() => removeExpired(database, bound.expiring.table, now(), bound.expiring)];
    return "end" in bound ? [bound.end] : [];
  });
  return startTasks(tasks, { intervalMs }, report);
}

/** Runs tasks in turn, again and again. `report`: called with failures; the next turn tries again. */
export function startTasks(
  tasks: readonly Task[],
  { intervalMs, isAtOnce = false }: TaskTimes,
  report: (error: unknown) => void,
): StopTasks {
  let running = Promise.resolve();
  let isStopped = false;

  /** One that fails keeps none of the others from running. */
  async function runAll(): Promise<void> {
    for (const task of tasks) {
      try {
        while (!isStopped && (await task())) await setTimeout(pauseMs);
      } catch (error) {
        report(error);
      }
    }
  }

  if (isAtOnce) running = runAll();
  const timer = setInterval(() => {
    running = running.then(runAll);
  }, intervalMs).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
    return running;
  };
}

/** Removes some expired rows, the oldest first. True if there may be more. */
export async function removeExpired(
  database: Database,
  table: TableSpec,
  nowMs: number,
  { expireUsOf = () => 0, onRemoved }: Partial<Expiring> = {},
): Promise<boolean> {
  const orderBy = [{ column: "expire_us", descending: false }];
  const isDue = ({ columns }: Row) => Number(columns.expire_us) <= nowMs * 1000;
  const oldest = await database.read.first(table, { orderBy });
  if (oldest === undefined || !isDue(oldest)) return false;
  return database.transact(async (session) => {
    const due = (await session.list(table, { orderBy, limit: batchSize })).filter(isDue);
    const removed: Row[] = [];
    for (const row of due) {
      const expireUs = Number(row.columns.expire_us) || expireUsOf(row);
      if (expireUs > nowMs * 1000) await session.setColumns(table, row.uid, { expire_us: expireUs });
      else if ((await session.remove(table, row.uid)) !== undefined) removed.push(row);
    }
    await onRemoved?.(session, removed);
    return due.length === batchSize;
  });
}
