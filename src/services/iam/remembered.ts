/**
 * What is asked for on every call and seldom changes: remembered until a watched table is changed, by whatever process, and not one call
 * longer. The number of changes is read before the answer, so an answer may be newer than its number, never older.
 */
import { andThen, type Eventually } from "../../eventually.ts";
import { RecentMap } from "../../recent-map.ts";
import type { ReadSession } from "../../store/index.ts";

/** Answers kept of one question. */
const maxAnswers = 10_000;

/** Asks `read` only for what it has not answered since the last change. `keyOf` tells questions apart; answers are shared and must not be changed. */
export function remembered<Q extends readonly unknown[], A>(
  session: ReadSession,
  keyOf: (...question: Q) => string,
  read: (...question: Q) => Promise<A>,
): (...question: Q) => Eventually<A> {
  const answers = new RecentMap<string, A>(maxAnswers);
  let changes = -1;
  return (...question) =>
    andThen(session.changes(), (changesNow) => {
      if (changesNow !== changes) {
        answers.clear();
        changes = changesNow;
      }
      const key = keyOf(...question);
      const known = answers.get(key);
      if (known !== undefined) return known;
      return read(...question).then((answer) => {
        if (changesNow === changes) answers.set(key, answer);
        return answer;
      });
    });
}
