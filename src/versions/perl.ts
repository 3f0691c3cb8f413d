/**
 * The order of Perl versions (version.pm): dotted, `v1.2.3` and `1.2.3`, or decimal, `1.02` and `1.002003`.
 *
 * A dotted version is a list of numbers. A decimal one has a number for each three digits after the dot: `1.02` is
 * `v1.20.0`. Lists compare number by number; missing ones are 0. Underscores do not count.
 */
import { compareDigits, compareToEnd } from "./parts.ts";

const grammar = /^v?\d*(?:\.\d+)*(?:_\d+)?$/;

/** Negative if `a` is before `b`, 0 if they are equal, positive if it is after; undefined if one is not a version. */
export function comparePerlVersions(a: string, b: string): number | undefined {
  const [x, y] = [numbersOf(a), numbersOf(b)];
  if (x === undefined || y === undefined) return undefined;
  return compareToEnd(x, y, (left = "0", right = "0") => compareDigits(left, right));
}

function numbersOf(version: string): string[] | undefined {
  if (!grammar.test(version) || !/\d/.test(version)) return undefined;
  const parts = version.replace("_", "").replace(/^v/, "").split(".");
  if (version.startsWith("v") || parts.length > 2) return parts;
  const [whole = "", fraction = ""] = parts;
  return [whole, ...(fraction.match(/\d{1,3}/g) ?? []).map((digits) => digits.padEnd(3, "0"))];
}
