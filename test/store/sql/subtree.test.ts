import { expect, test } from "vitest";
import { everything, holds, rangeOf, remaining, unionOf } from "../../../src/store/sql/subtree.ts";

const below = (root: string) => ({ root, self: false });
const whole = (root: string) => ({ root, self: true });

test.each([
  { title: "none", given: [], union: [] },
  { title: "one", given: [below("a")], union: [below("a")] },
  { title: "nested", given: [below("a/b"), whole("a"), below("a/b/c")], union: [whole("a")] },
  { title: "the same twice", given: [below("a"), below("a")], union: [below("a")] },
  { title: "with and without the root", given: [below("a"), whole("a"), below("a")], union: [whole("a")] },
  {
    title: "names that begin alike",
    given: [whole("ab"), whole("a"), whole("a0"), whole("a/b")],
    union: [whole("a"), whole("a0"), whole("ab")],
  },
  {
    title: "siblings out of order",
    given: [whole("b"), whole("a/2"), whole("a/1")],
    union: [whole("a/1"), whole("a/2"), whole("b")],
  },
])("a union of $title is disjoint and in order", ({ given, union }) => {
  expect(unionOf(given)?.roots).toEqual(union);
});

test("a union with the root of all is everything", () => {
  expect(unionOf([whole("a"), below("")])).toBeUndefined();
});

test.each([
  {
    subtree: whole("a/b"),
    inside: ["a/b", "a/b/c", "a/b/c/d", "a/b/~"],
    outside: ["a", "a/a", "a/bb", "a/b0", "a/c", "b"],
  },
  { subtree: below("a/b"), inside: ["a/b/c", "a/b/0"], outside: ["a/b", "a", "a/b0"] },
  { subtree: below(""), inside: ["0", "a", "~/~"], outside: [] },
])("the range of $subtree holds exactly what lies there", ({ subtree, inside, outside }) => {
  const ranges = [rangeOf(subtree)];
  expect(inside.filter((uid) => !holds(ranges, uid))).toEqual([]);
  expect(outside.filter((uid) => holds(ranges, uid))).toEqual([]);
});

test.each([
  {
    title: "nothing seen",
    uid: undefined,
    ascending: ["a-a0", "c-c0", "e/-e0"],
    descending: ["e/-e0", "c-c0", "a-a0"],
  },
  { title: "inside a range", uid: "c/1", ascending: ["c/1!-c0", "e/-e0"], descending: ["c-c/1", "a-a0"] },
  { title: "between ranges", uid: "d", ascending: ["e/-e0"], descending: ["c-c0", "a-a0"] },
  { title: "before all", uid: "0", ascending: ["a-a0", "c-c0", "e/-e0"], descending: [] },
  { title: "behind all", uid: "f", ascending: [], descending: ["e/-e0", "c-c0", "a-a0"] },
])("what remains after $title", ({ uid, ascending, descending }) => {
  const ranges = [whole("a"), whole("c"), below("e")].map(rangeOf);
  const text = (left: readonly { lo: string; hi: string }[]) => left.map(({ lo, hi }) => `${lo}-${hi}`);
  expect(text(remaining(ranges, uid, false))).toEqual(ascending);
  expect(text(remaining(ranges, uid, true))).toEqual(descending);
});

test("everything holds every uid", () => {
  expect(holds([everything], "0") && holds([everything], "~")).toBe(true);
});
