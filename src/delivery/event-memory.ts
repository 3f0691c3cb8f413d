/** Events on their way: one goes to many subscriptions, soon after another, and is read once. */
import type { Database } from "../store/index.ts";
import { type Event, readEvents } from "./event.ts";

/** So many characters of data are kept. */
const maxRemembered = 8 * 1024 * 1024;

/** Reads events by id, and keeps those that were read last. */
export function rememberEvents(database: Database): (ids: readonly string[]) => Promise<ReadonlyMap<string, Event>> {
  const remembered = new Map<string, Event>();
  let size = 0;
  return async (ids) => {
    const found = new Map<string, Event>();
    const missing = ids.filter((id) => {
      const event = remembered.get(id);
      if (event !== undefined) found.set(id, event);
      return event === undefined;
    });
    for (const [id, event] of await readEvents(database.read, missing)) {
      found.set(id, event);
      if (!remembered.has(id)) size += event.data.length;
      remembered.set(id, event);
    }
    for (const [id, { data }] of remembered) {
      if (size <= maxRemembered) break;
      remembered.delete(id);
      size -= data.length;
    }
    return found;
  };
}
