/** Queues that are shared fairly. */
import { describe, expect, test } from "vitest";
import { FairQueue, hasShare } from "../../src/fairness/index.ts";

const by = (account: string, caller = account) => ({ account, caller });

describe("a queue", () => {
  test("serves accounts in turn, in each its callers, and of each caller what came first", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3", "a4"]) queue.add(by("o", "a"), item);
    for (const item of ["b1", "b2"]) queue.add(by("o", "b"), item);
    queue.add(by("p", "a"), "c1");
    const served = Array.from({ length: 8 }, () => queue.shift());
    expect(served).toEqual(["a1", "c1", "b1", "a2", "b2", "a3", "a4", undefined]);
    expect(queue.size).toBe(0);
  });

  test("forgets what is deleted, and nothing else", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2"]) queue.add(by("o"), item);
    queue.add(by("p"), "b1");
    queue.delete(by("o"), "a1");
    queue.delete(by("o"), "a1");
    queue.delete(by("q"), "a1");
    expect([queue.size, queue.countOf(by("o")), queue.countOf(by("p"))]).toEqual([2, 1, 1]);
    queue.delete(by("p"), "b1");
    expect([queue.shift(), queue.shift(), queue.size]).toEqual(["a2", undefined, 0]);
  });

  test("has room for those with less than their share, until twice as many wait", () => {
    const queue = new FairQueue<number>();
    const addMany = (account: string) => {
      let added = 0;
      for (; queue.hasRoom(by(account), 8); added++) queue.add(by(account), added);
      return added;
    };
    expect(addMany("many")).toBe(8);
    expect(addMany("few")).toBe(4);
    expect(addMany("other")).toBe(2);
    expect(addMany("last")).toBe(2);
    expect(addMany("none")).toBe(0);
  });
});

test.each([
  [7, 7, 1, 8, true],
  [8, 8, 1, 8, false],
  [0, 8, 1, 8, true],
  [3, 11, 2, 8, true],
  [4, 12, 2, 8, false],
  [0, 16, 3, 8, false],
  [0, 8, 8, 8, false],
])("of %i of %i by %i accounts where %i may be, one more may be: %s", (own, all, accounts, max, may) => {
  expect(hasShare(own, all, accounts, max)).toBe(may);
});
