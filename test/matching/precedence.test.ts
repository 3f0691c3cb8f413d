import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Assertion, resolve } from "../../src/matching/precedence.ts";

const weighing = { feedOrder: ["first", "second"], nowMs: 100 };
const assertion = (more: Partial<Assertion>): Assertion => ({
  kind: "FEED",
  source: "osv",
  state: "AFFECTED",
  ...more,
});

const analysis = assertion({ kind: "ANALYSIS", source: "team", state: "NOT_AFFECTED" });
const vexOfDigest = assertion({ kind: "VEX", source: "vendor", isSpecific: true });
const vexOfProduct = assertion({ kind: "VEX", source: "vendor", state: "NOT_AFFECTED", timeMs: 99 });
const complete = assertion({ source: "wolfi", coverage: "COMPLETE", state: "FIXED" });
const closing = assertion({ source: "secdb", coverage: "FIXES_ONLY", state: "FIXED" });
const advisory = assertion({ source: "osv", timeMs: 98 });
const belowFix = assertion({ source: "secdb", coverage: "FIXES_ONLY", fixedVersion: "2-r0" });
const scanner = assertion({ kind: "SCANNER", source: "grype", timeMs: 97 });

describe("of several assertions", () => {
  test("the more specific decides, however old", () => {
    const all = [analysis, vexOfDigest, vexOfProduct, complete, advisory, belowFix, scanner];
    expect(resolve(all.toReversed(), weighing).assertions).toEqual(all);
    for (const [i, expected] of all.entries()) expect(resolve(all.slice(i), weighing).deciding).toBe(expected);
  });

  test("none decides where there are none", () => {
    expect(resolve([], weighing)).toEqual({ deciding: undefined, assertions: [], fixedVersion: "" });
  });

  test("a feed of fixes closes what a general source opens, and else leaves it to that one", () => {
    expect(resolve([advisory, closing], weighing).deciding).toBe(closing);
    expect(resolve([scanner, closing], weighing).deciding).toBe(closing);
    expect(resolve([belowFix, advisory], weighing)).toMatchObject({ deciding: advisory, fixedVersion: "2-r0" });
    expect(resolve([belowFix, scanner], weighing).deciding).toBe(belowFix);
    const never = assertion({ source: "secdb", coverage: "FIXES_ONLY", state: "NOT_AFFECTED" });
    expect(resolve([advisory, never], weighing).deciding).toBe(never);
  });

  test("the analysis of the nearest group decides, then the later", () => {
    const far = { ...analysis, distance: 2, timeMs: 9 };
    const near = { ...analysis, distance: 1, timeMs: 1, state: "AFFECTED" as const };
    expect(resolve([far, near], weighing).deciding).toBe(near);
    const later = { ...near, timeMs: 2 };
    expect(resolve([near, later], weighing).deciding).toBe(later);
  });

  test("an expired analysis does not decide, and is not lost", () => {
    const expired = { ...analysis, expireMs: 100 };
    expect(resolve([expired, scanner], weighing)).toMatchObject({ deciding: scanner, assertions: [scanner, expired] });
    expect(resolve([expired], weighing)).toEqual({ deciding: undefined, assertions: [expired], fixedVersion: "" });
    const valid = { ...analysis, expireMs: 101 };
    expect(resolve([valid, scanner], weighing).deciding).toBe(valid);
  });

  test("of one rank the later decides, then the order of feeds, then the name", () => {
    const of = (source: string, timeMs?: number) => assertion({ source, timeMs });
    expect(resolve([of("first", 1), of("second", 2)], weighing).deciding).toEqual(of("second", 2));
    expect(resolve([of("second", 1), of("first", 1)], weighing).deciding).toEqual(of("first", 1));
    expect(resolve([of("b"), of("a"), of("second")], weighing).assertions.map(({ source }) => source)).toEqual([
      "second",
      "a",
      "b",
    ]);
  });

  test.each([
    // The deciding one, but that of the distribution before that of a general source.
    [[{ ...advisory, fixedVersion: "1.9" }], "1.9"],
    [[{ ...advisory, fixedVersion: "1.9" }, belowFix], "2-r0"],
    [[{ ...complete, state: "AFFECTED", fixedVersion: "3-r0" }, belowFix], "3-r0"],
    [[vexOfDigest, belowFix, { ...advisory, fixedVersion: "1.9" }], "2-r0"],
    [[vexOfDigest, { ...scanner, fixedVersion: "1.8" }], "1.8"],
    // What is said to be fixed already is no fix of what is open.
    [[vexOfDigest, { ...closing, fixedVersion: "1-r0" }], ""],
    [
      [
        { ...closing, fixedVersion: "1-r0" },
        { ...advisory, fixedVersion: "1.9" },
      ],
      "1-r0",
    ],
    [[scanner], ""],
  ] as const)("%j: the fixed version is %j", (assertions, expected) => {
    expect(resolve(assertions as readonly Assertion[], weighing).fixedVersion).toBe(expected);
  });

  test("of those that say the same, the first by id and the one about the package itself is before", () => {
    const [a, ofOrigin, b] = [
      assertion({ id: "GHSA-a" }),
      assertion({ id: "GHSA-a", isOfOrigin: true }),
      assertion({ id: "GHSA-b" }),
    ];
    expect(resolve([b, ofOrigin, a], weighing).assertions).toEqual([a, ofOrigin, b]);
  });

  test("their order does not count", () => {
    const some = fc.record({
      kind: fc.constantFrom<Assertion["kind"]>("ANALYSIS", "VEX", "FEED", "SCANNER"),
      source: fc.constantFrom("first", "second", "third"),
      state: fc.constantFrom<Assertion["state"]>("AFFECTED", "FIXED"),
      timeMs: fc.nat(2),
      coverage: fc.constantFrom("COMPLETE" as const, "FIXES_ONLY" as const, undefined),
    });
    fc.assert(
      fc.property(fc.array(some, { maxLength: 6 }), (assertions) => {
        const { assertions: sorted } = resolve(assertions, weighing);
        expect(sorted).toHaveLength(assertions.length);
        const plain = (list: readonly Assertion[]) =>
          list.map(({ kind, source, state, timeMs }) => [kind, source, state, timeMs]);
        expect(plain(resolve(assertions.toReversed(), weighing).assertions)).toEqual(plain(sorted));
      }),
    );
  });
});
