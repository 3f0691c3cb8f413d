/**
 * The order of Perl versions (version.pm): dotted, `v1.2.3` and `1.2.3`, or decimal, `1.02` and `1.002003`.
 *
 * A dotted version is a list of numbers. A decimal one has a number for each three digits after the dot: `1.02` is
 * `v1.20.0`. Lists compare number by number; missing ones are 0. Underscores do not count.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareToEnd } from "./parts.ts";

const grammar = /^v?\d*(?:\.\d+)*(?:_\d+)?$/;

/** The order of Perl. */
export const perlOrdering: Ordering<readonly string[]> = {
  parse: numbersOf,
  compare: (a, b) => compareToEnd(a, b, (left = "0", right = "0") => compareDigits(left, right)),
};

function numbersOf(version: string): string[] | undefined {
  if (!grammar.test(version) || !/\d/.test(version)) return undefined;
  const parts = version.replace("_", "").replace(/^v/, "").split(".");
  if (version.startsWith("v") || parts.length > 2) return parts;
  const [whole = "", fraction = ""] = parts;
  return [whole, ...(fraction.match(/\d{1,3}/g) ?? []).map((digits) => digits.padEnd(3, "0"))];
}
