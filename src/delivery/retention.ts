/** Old events, and what has become of their deliveries, are forgotten, a few at a time. */
import type { Database } from "../store/index.ts";
import { deliveriesQueue } from "./deliveries.ts";
import { forgetEvents, oldestEventMs } from "./event.ts";

/** So few that no other change waits for them. */
const batchSize = 200;

/** Drops some of the events recorded before `beforeMs` and of their deliveries, unless those are pending; whether there may be more. */
export async function forgetDelivered(database: Database, beforeMs: number): Promise<boolean> {
  const oldestMs = await oldestEventMs(database.read);
  if (oldestMs === undefined || oldestMs >= beforeMs) return false;
  if ((await database.queue(deliveriesQueue).forget(beforeMs * 1000, batchSize)) > 0) return true;
  return (await database.transact((session) => forgetEvents(session, beforeMs, batchSize))) >= batchSize;
}
