/** Work of which each account has one under way. */
import { describe, expect, test } from "vitest";
import { AccountTurns } from "../../src/fairness/index.ts";

const by = (account: string, caller = account) => ({ account, caller });

describe("turns of accounts", () => {
  /** Begins work that ends when it is told to. */
  function begin(turns: AccountTurns, payer: ReturnType<typeof by>, signal = new AbortController().signal) {
    const work = { hasBegun: false, end: () => {} };
    const begun = Promise.resolve(turns.begin(payer, signal)).then((end) =>
      Object.assign(work, { hasBegun: true, end }),
    );
    return { work, begun };
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test("let one work of an account begin after another, its callers in turn, and other accounts at once", async () => {
    const turns = new AccountTurns();
    const [first, a1, a2, b, other] = ["a", "a", "a", "b", "c"].map((caller) =>
      begin(turns, by(caller === "c" ? "other" : "one", caller)),
    );
    const all = [first, a1, a2, b, other].map((each) => each!.work);
    const begun = () => all.map(({ hasBegun }) => hasBegun);
    await settled();
    expect(begun()).toEqual([true, false, false, false, true]);
    all[0]!.end();
    await settled();
    expect(begun()).toEqual([true, true, false, false, true]);
    all[1]!.end();
    await settled();
    expect(begun()).toEqual([true, true, false, true, true]);
    all[3]!.end();
    await settled();
    expect(begun()).toEqual([true, true, true, true, true]);
    all[2]!.end();
    all[4]!.end();
    const again = begin(turns, by("one"));
    await settled();
    expect(again.work.hasBegun).toBe(true);
  });

  test("pass over work that is aborted while it waits", async () => {
    const turns = new AccountTurns();
    const first = begin(turns, by("one"));
    const abort = new AbortController();
    const aborted = begin(turns, by("one"), abort.signal);
    const last = begin(turns, by("one"));
    await settled();
    abort.abort(new Error("gone"));
    await expect(aborted.begun).rejects.toThrow("gone");
    first.work.end();
    await settled();
    expect(last.work.hasBegun).toBe(true);
    expect(() => turns.begin(by("one"), abort.signal)).toThrow("gone");
  });
});
