/**
 * What is asked for on every call and seldom changes: remembered until a watched table is changed, by whatever process, and not one call
 * longer. The number of changes is read before the answer, so an answer may be newer than its number, never older.
 */
import type { ReadSession } from "../../store/index.ts";

/** Answers kept of one question. */
const maxAnswers = 10_000;

/** Asks `read` only for what it has not answered since the last change. `keyOf` tells questions apart; answers are shared and must not be changed. */
export function remembered<Q extends readonly unknown[], A>(
  session: ReadSession,
  keyOf: (...question: Q) => string,
  read: (...question: Q) => Promise<A>,
): (...question: Q) => Promise<A> {
  const answers = new Map<string, A>();
  let changes = -1;
  return async (...question) => {
    const changesNow = await session.changes();
    if (changesNow !== changes) {
      answers.clear();
      changes = changesNow;
    }
    const key = keyOf(...question);
    let answer = answers.get(key);
    if (answer === undefined) {
      answer = await read(...question);
      if (changesNow !== changes) return answer;
      if (answers.size >= maxAnswers) answers.delete(answers.keys().next().value!);
    } else answers.delete(key);
    answers.set(key, answer);
    return answer;
  };
}
