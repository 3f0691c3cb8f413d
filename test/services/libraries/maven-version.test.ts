import fc from "fast-check";
import { expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { versionOrder } from "../../../src/services/libraries/version-order.ts";
import { compareByKey, expectRising } from "./in-order.ts";

test("the examples that the specification gives", () => {
  const relations = `
    1 < 1.1
    1-snapshot < 1
    1 < 1-sp
    1-foo2 < 1-foo10
    1.foo = 1-foo
    1-foo < 1-1
    1-1 < 1.1
    1.ga = 1-ga
    1-ga = 1-0
    1-0 = 1.0
    1.0 = 1
    1-ga.1 < 1-sp.1
    1-sp-1 < 1-ga-1
    1-a1 = 1-alpha-1
    1.0.0 = 1
    1.final = 1
    1. = 1
    1- = 1
    1.0.0-foo.0.0 = 1-foo
    1.0.0-0.0.0 = 1
    1-1.foo-bar1baz-.1 = 1-1.foo-bar-1-baz-0.1`;
  for (const relation of relations.trim().split("\n")) {
    const [a = "", sign, b = ""] = relation.trim().split(" ");
    const expected = sign === "=" ? 0 : -1;
    expect(compareByKey(Ecosystem.JAVA, a, b), relation).toBe(expected);
    expect(compareTokens(a, b), `the comparator of this test: ${relation}`).toBe(expected);
  }
});

test("the order of qualifiers, and of versions as they are met", () => {
  expectRising(Ecosystem.JAVA, [
    "1-alpha-1 1.0.0-alpha1 1.0-a1 1-ALPHA-1",
    "1-alpha.1",
    "1-beta 1.0.beta",
    "1-milestone1 1-m1",
    "1-rc 1-cr",
    "1-rc-2 1-rc2",
    "1-SNAPSHOT 1.0-snapshot",
    "1 1.0 1.0.Final 1.0.0.RELEASE 1-ga",
    "1-sp",
    "1-abc",
    "1-jre",
    "1-1",
    "1-2 1-0-2",
    "1.0.1",
    "1.1",
    "1.5-rc-1",
    "1.5",
    "1.10",
    "20040616",
    "99999999999999999999",
    "100000000000000000000",
  ]);
});

test("what comes before a release is not stable", () => {
  for (const version of ["1", "1.0.Final", "31.1-jre", "1-1", "2.0-sp1", "1.0-incubating"])
    expect(versionOrder(Ecosystem.JAVA, version).isStable, version).toBe(true);
  for (const version of ["1-alpha", "1.0-b2", "1.0.M1", "1.0.0.RC1", "1.0-cr1", "1.0-SNAPSHOT", "1.0-jre-SNAPSHOT"])
    expect(versionOrder(Ecosystem.JAVA, version).isStable, version).toBe(false);
});

const token = fc.constantFrom(
  "0",
  "1",
  "2",
  "10",
  "a",
  "alpha",
  "b",
  "m",
  "rc",
  "cr",
  "Snapshot",
  "ga",
  "sp",
  "x",
  "foo",
);
const version = fc
  .array(fc.tuple(token, fc.constantFrom(".", "-", "")), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.flat().join(""));

test("keys are in the order of a comparator that does as the specification says", () => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(compareByKey(Ecosystem.JAVA, a, b)).toBe(compareTokens(a, b));
    }),
    { numRuns: 5000 },
  );
});

test("any text has a place, and a key of bounded size", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(Buffer.byteLength(versionOrder(Ecosystem.JAVA, text).key)).toBeLessThanOrEqual(2048);
    }),
  );
});

/** The specification, word for word: split, trim, pad with nulls of the other's prefix, compare prefixed tokens. */
function compareTokens(a: string, b: string): number {
  const [left, right] = [prefixedTokens(a), prefixedTokens(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const x = left[i] ?? nullOf(right[i]!);
    const y = right[i] ?? nullOf(left[i]!);
    const order =
      kindOf(x) - kindOf(y) || (isNumeric(x) ? Number(x.slice(1)) - Number(y.slice(1)) : compareWords(x, y));
    if (order !== 0) return Math.sign(order);
  }
  return 0;
}

function prefixedTokens(version: string): string[] {
  const hyphenated = version
    .toLowerCase()
    .replace(/(?<=^|[^a-z])([abm])(?=\d)/g, (_, letter) => ({ a: "alpha", b: "beta", m: "milestone" })[letter as "a"])
    .replace(/(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)/g, "-")
    .replace(/\.(?=[a-z])/g, "-");
  const tokens = `.${hyphenated}`.split(/(?=[.-])/).map((token) => (token.length === 1 ? `${token}0` : token));
  for (let i = tokens.length; i > 0; i--) {
    const isTrimmedHere = i === tokens.length || tokens[i]!.startsWith("-");
    if (isTrimmedHere && /^.(0+|final|ga|release)$/.test(tokens[i - 1]!)) tokens.splice(i - 1, 1);
  }
  return tokens;
}

function nullOf(token: string): string {
  return token.startsWith(".") && isNumeric(token) ? ".0" : "-";
}

function isNumeric(token: string): boolean {
  return /\d$/.test(token);
}

/** qualifier < -number < .number */
function kindOf(token: string): number {
  return isNumeric(token) ? (token.startsWith("-") ? 1 : 2) : 0;
}

const known = ["alpha", "beta", "milestone", "rc", "snapshot", "", "sp"];

function compareWords(a: string, b: string): number {
  const [x, y] = [a, b].map((token) =>
    token
      .slice(1)
      .replace(/^(ga|final|release)$/, "")
      .replace(/^cr$/, "rc"),
  );
  const rankOf = (word: string) => (known.includes(word) ? known.indexOf(word) : known.length);
  return rankOf(x!) - rankOf(y!) || (x! < y! ? -1 : x! > y! ? 1 : 0);
}
