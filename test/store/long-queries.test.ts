import { expect, test } from "vitest";
import { Histogram } from "../../src/histogram/index.ts";
import { LongQueries, waitingLimits } from "../../src/store/long-queries.ts";
import { OverloadError } from "../../src/store/sql/errors.ts";

const statement = { text: "", slots: [] };

/** Long queries whose answers the test gives, in the order in which they began. */
function heldQueries(size: number) {
  const begun: { name: string; answer(rows: unknown[][]): void }[] = [];
  const queries = new LongQueries(
    {
      size,
      rows: (_, { name }) => {
        const { promise, resolve } = Promise.withResolvers<unknown[][]>();
        begun.push({ name: name as string, answer: resolve });
        return promise;
      },
    },
    500,
    new Histogram([]),
  );
  const ask = (caller: string, name: string, signal = new AbortController().signal, account = caller) =>
    queries.connectionFor({ account, caller, signal }).rows(statement, { name }) as Promise<unknown[][]>;
  return { begun, ask, names: () => begun.map(({ name }) => name) };
}

test("run as many at once as the runner takes, and callers in turn", async () => {
  const { begun, ask, names } = heldQueries(2);
  const answers = [ask("a", "a1"), ask("a", "a2"), ask("a", "a3"), ask("a", "a4"), ask("b", "b1"), ask("c", "c1")];
  expect(names()).toEqual(["a1", "a2"]);
  for (let i = 0; i < answers.length; i++) {
    begun[i]!.answer([[i]]);
    await new Promise(setImmediate);
  }
  expect(names()).toEqual(["a1", "a2", "a3", "b1", "c1", "a4"]);
  expect(await Promise.all(answers)).toEqual([[[0]], [[1]], [[2]], [[5]], [[3]], [[4]]]);
});

test("leave the queue when their call ends", async () => {
  const { begun, ask, names } = heldQueries(1);
  const stop = new AbortController();
  const first = ask("a", "a1");
  const stopped = ask("a", "a2", stop.signal);
  const last = ask("a", "a3");
  stop.abort(new Error("gone"));
  await expect(stopped).rejects.toThrow("gone");
  await expect(ask("a", "a4", stop.signal)).rejects.toThrow("gone");
  begun[0]!.answer([]);
  await first;
  await new Promise(setImmediate);
  expect(names()).toEqual(["a1", "a3"]);
  begun[1]!.answer([]);
  await last;
});

test("of one account wait for one query of each other", async () => {
  const { begun, ask, names } = heldQueries(1);
  const { signal } = new AbortController();
  for (const name of ["a1", "a2", "a3", "a4"]) void ask("a", name, signal, "o");
  for (const name of ["b1", "b2"]) void ask("b", name, signal, "o");
  for (const name of ["c1", "c2"]) void ask("c", name, signal, "p");
  for (let i = 0; i < 8; i++) {
    begun[i]!.answer([]);
    await new Promise(setImmediate);
  }
  expect(names()).toEqual(["a1", "a2", "c1", "b1", "c2", "a3", "b2", "a4"]);
});

test("are refused when too many of a caller wait, or of all who have more than their share", async () => {
  const { ask } = heldQueries(1);
  const { signal } = new AbortController();
  void ask("a", "first");
  for (let i = 0; i < waitingLimits.ofCaller; i++) void ask("a", `a${i}`, signal, "o");
  await expect(ask("a", "one more", signal, "o")).rejects.toEqual(new OverloadError(true));
  for (let i = waitingLimits.ofCaller; i < waitingLimits.inTotal; i++) void ask(`b${i}`, `b${i}`, signal, "o");
  await expect(ask("c", "one more", signal, "o")).rejects.toEqual(new OverloadError(false));
  for (let i = 0; i < waitingLimits.inTotal / 2; i++) void ask(`d${i}`, "of another", signal, "p");
  await expect(ask("e", "one more", signal, "p")).rejects.toEqual(new OverloadError(false));
});

test("are followed by others when they fail", async () => {
  const queries = new LongQueries({ size: 1, rows: () => Promise.reject(new Error("broken")) }, 500, new Histogram([]));
  const connection = queries.connectionFor({ caller: "a", signal: new AbortController().signal });
  for (let i = 0; i < 3; i++) await expect(connection.rows(statement, {})).rejects.toThrow("broken");
});
