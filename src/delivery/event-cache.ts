/** Caches events that are being delivered: an event usually goes to several subscriptions in a short time. */
import type { Database } from "../store/index.ts";
import { type Event, readEvents } from "./event.ts";

/** Cached data, in UTF-16 units. */
const maxSize = 8 * 1024 * 1024;

/** Returns a function that reads events by id through a cache. Events that do not exist are left out. */
export function createEventCache(database: Database): (ids: readonly string[]) => Promise<ReadonlyMap<string, Event>> {
  const cached = new Map<string, Event>();
  let size = 0;
  return async (ids) => {
    const found = new Map<string, Event>();
    const missing = ids.filter((id) => {
      const event = cached.get(id);
      if (event !== undefined) found.set(id, event);
      return event === undefined;
    });
    for (const [id, event] of await readEvents(database.read, missing)) {
      found.set(id, event);
      if (!cached.has(id)) size += event.data.length;
      cached.set(id, event);
    }
    for (const [id, { data }] of cached) {
      if (size <= maxSize) break;
      cached.delete(id);
      size -= data.length;
    }
    return found;
  };
}
