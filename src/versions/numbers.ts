/**
 * Versions that are lists of numbers. They compare number by number.
 *
 * - CRAN (`compareVersion` of R): `1.2-3`. A list is before a longer one that begins with it: `1.0` < `1.0.0`.
 * - Hackage (Haskell Package Versioning Policy): `1.2.3`, the same.
 * - Chrome extensions: one to four numbers. Missing ones are 0.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareLists } from "./parts.ts";

/** The order of CRAN. */
export const cranOrdering = ordering(/^\d+(?:[.-]\d+)*$/);

/** The order of Hackage. */
export const hackageOrdering = ordering(/^\d+(?:\.\d+)*$/);

/** The order of Chrome extensions. */
export const chromeOrdering = ordering(/^\d+(?:\.\d+){0,3}$/, 4);

/** @param length shorter lists are filled with 0. */
function ordering(grammar: RegExp, length = 0): Ordering<readonly string[]> {
  return {
    parse(version) {
      if (!grammar.test(version)) return undefined;
      const numbers = version.split(/[.-]/);
      return [...numbers, ...Array<string>(Math.max(0, length - numbers.length)).fill("0")];
    },
    compare: (a, b) => compareLists(a, b, compareDigits),
  };
}
