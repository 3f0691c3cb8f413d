/** Deletes old events and their deliveries in small batches. */
import type { Database } from "../store/index.ts";
import { deliveriesQueue } from "./deliveries.ts";
import { forgetEvents, oldestEventMs } from "./event.ts";

/** Small, so that other writers do not wait. */
const batchSize = 200;

/**
 * Deletes a batch of the events recorded before `beforeMs`, or of their deliveries: what waits for a subscription that
 * is paused, too. Returns whether there may be more.
 */
export async function forgetDelivered(database: Database, beforeMs: number): Promise<boolean> {
  const oldestMs = await oldestEventMs(database.read);
  if (oldestMs === undefined || oldestMs >= beforeMs) return false;
  if ((await database.queue(deliveriesQueue).forget(beforeMs * 1000, batchSize)) > 0) return true;
  return (await database.transact((session) => forgetEvents(session, beforeMs, batchSize))) >= batchSize;
}
