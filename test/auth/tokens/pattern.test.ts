import { describe, expect, it } from "vitest";
import { matchesPattern, PatternBudget, patternFault } from "../../../src/auth/tokens/pattern.ts";

describe("matchesPattern", () => {
  const cases: [pattern: string, value: string, matches: boolean][] = [
    ["a", "a", true],
    ["a", "ab", false],
    ["a", "ba", false],
    ["^a$", "a", true],
    ["^a$", "a\n", false],
    ["a$", "a\n", false],
    ["(?m)^a$", "a\nb", false],
    ["a|ab", "ab", true],
    ["a|b", "ab", false],
    [".*", "", true],
    ["", "", true],
    ["", "a", false],
    ["repo:org/[a-z-]+:ref:refs/heads/(main|release-.*)", "repo:org/my-app:ref:refs/heads/release-1", true],
    ["repo:org/[a-z-]+:ref:refs/heads/(main|release-.*)", "repo:org/x/../y:ref:refs/heads/main", false],
    ["https://.*\\.example\\.com", "https://a.example.com", true],
    ["https://.*\\.example\\.com", "https://a.example.com.evil.org", false],
    ["[0-9a-f]{40}(/[0-9a-f]{16}){0,5}", `${"0".repeat(40)}/${"1".repeat(16)}`, true],
    ["(?i)abc", "ABC", true],
    ["\\pL+", "äß", true],
    ["(a", "(a", false], // not a pattern
    [".*", "a".repeat(1024), true],
    [".*", "a".repeat(1025), false], // value too long
    ["(a?){200}", "a".repeat(1000), false], // too much work
  ];
  it.each(cases)("%s %j %s", (pattern, value, expected) => expect(matchesPattern(pattern, value)).toBe(expected));
});

describe("patternFault", () => {
  const good = [
    "",
    "a",
    "^a$",
    "a{250}",
    "(?:a|b)*",
    "[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
    "\\d+",
    "a".repeat(250),
    "[0-9a-f]{40}(/[0-9a-f]{16}){0,5}",
  ];
  const bad = [
    ...[
      "(",
      ")",
      "[",
      "*",
      "a**",
      "a{1001}",
      "(?=a)",
      "(?<!a)",
      "\\1",
      "(?P=a)",
      "\\",
      "[z-a]",
      "(?Z)",
      "a".repeat(1025),
      "\\p{L}".repeat(9),
      "(?i)[a-\u{ffff}]",
      "(?i:[!-\\x{ffff}])",
    ],
    ...[
      "(a{1000}){1000}",
      "((a{10}){10}){11}",
      `(${"a".repeat(900)}){1000}`,
      "(a?){1000}".repeat(100),
      "a{1000}".repeat(100),
      "(a|b|c){999}",
      "a{1000}",
      "a".repeat(1000),
      "(?:[a-z0-9]{1,40}|x[a-z]{1,20}){1,8}!",
    ],
  ];
  it.each(good)("accepts %s", (pattern) => expect(patternFault(pattern)).toBeUndefined());
  it.each(bad)("refuses %s", (pattern) => {
    expect(patternFault(pattern)).toBeTypeOf("string");
    expect(matchesPattern(pattern, "a")).toBe(false);
  });
});

it("says why a text is not a pattern", () => {
  expect(patternFault("(a")).toBe('must be an RE2 pattern: missing closing ) in "(a"');
  expect(patternFault("a{1000}")).toBe("must compile to at most 256 instructions, it compiles to 1002");
  expect(patternFault("(a|b|c){999}")).toMatch("must not repeat so much");
  expect(patternFault("a".repeat(1025))).toBe("must have at most 1024 characters");
  expect(patternFault("\\pL".repeat(8))).toBeUndefined();
  expect(patternFault("\\pL".repeat(9))).toBe("must have at most 8 Unicode classes");
  expect(patternFault("(?i)[a-é]")).toBe("must not ignore case in a range that goes beyond ASCII");
});

it("compares values of 256 characters with every pattern", () => {
  expect(matchesPattern("a{0,60}.*[bc]{1,60}", "ab".repeat(128))).toBe(true);
  expect(matchesPattern(`${"a".repeat(240)}.*`, "a".repeat(256))).toBe(true);
});

it("survives many patterns and values that grow the automaton", () => {
  for (let i = 0; i < 2000; i++) {
    expect(matchesPattern(`.*a.{9}${i}`, `${"ab".repeat(i % 50)}a123456789${i}`)).toBe(true);
    expect(matchesPattern(".*a.{12}z", (i * 7919).toString(2).replaceAll("0", "a"))).toBe(false);
  }
});

describe("the budget of an organisation", () => {
  const hostile = "[ab]*a[ab]{80}|y";
  const value = (seed: number) => {
    let state = seed;
    const next = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 31 === 1 ? "a" : "b";
    };
    return Array.from({ length: 200 }, next).join("");
  };

  it("is spent by values that are new to a pattern, not by known ones", () => {
    const work = (text: string) => {
      let done = 0;
      matchesPattern(hostile, text, (more) => {
        done += more;
      });
      return done;
    };
    expect(work(value(1))).toBeGreaterThan(1000);
    expect(work(value(1))).toBe(0);
    expect(work(value(2))).toBeGreaterThan(1000);
  });

  it("is refilled with time, and is that of nobody else", () => {
    let nowMs = 0;
    const budget = new PatternBudget(() => nowMs);
    for (let i = 0; budget.hasLeft("a") && i < 1000; i++)
      matchesPattern(hostile, value(i + 10), (work) => budget.spend("a", work));
    expect([budget.hasLeft("a"), budget.hasLeft("b")]).toEqual([false, true]);
    nowMs += 60_000;
    expect(budget.hasLeft("a")).toBe(true);
  });
});
