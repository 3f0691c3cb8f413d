/**
 * A cache of queries that run on every call and whose results seldom change. It is cleared when any process changes a
 * table that invalidates it, before the next call. The change count is read before the result, so a result may be newer
 * than its count but never older.
 */
import { type Awaitable, chain } from "../../../awaitable.ts";
import { LruMap } from "../../../lru-map.ts";
import type { ReadSession } from "../../../store/index.ts";

/** The results that one cache keeps. */
const maxResults = 10_000;

/**
 * Calls `read` unless its result for these arguments is cached. `keyOf` distinguishes arguments. Results are shared and
 * must not be modified.
 */
export function cachedUntilChange<Q extends readonly unknown[], A>(
  session: ReadSession,
  keyOf: (...args: Q) => string,
  read: (...args: Q) => Promise<A>,
): (...args: Q) => Awaitable<A> {
  const results = new LruMap<string, A>(maxResults);
  let changes = -1;
  return (...args) =>
    chain(session.changes(), (current) => {
      if (current !== changes) {
        results.clear();
        changes = current;
      }
      const key = keyOf(...args);
      const known = results.get(key);
      if (known !== undefined) return known;
      return read(...args).then((result) => {
        if (current === changes) results.set(key, result);
        return result;
      });
    });
}
