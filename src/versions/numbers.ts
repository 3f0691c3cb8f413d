/**
 * Versions that are lists of numbers. They compare number by number.
 *
 * - CRAN (`compareVersion` of R): `1.2-3`. A list is before a longer one that begins with it: `1.0` < `1.0.0`.
 * - Hackage (Haskell Package Versioning Policy): `1.2.3`, the same.
 * - Chrome extensions: one to four numbers. Missing ones are 0.
 */
import { compareDigits, compareLists } from "./parts.ts";

/** Compares versions of CRAN; undefined if one is not a version. */
export const compareCranVersions = comparison(/^\d+(?:[.-]\d+)*$/);

/** Compares versions of Hackage; undefined if one is not a version. */
export const compareHackageVersions = comparison(/^\d+(?:\.\d+)*$/);

/** Compares versions of Chrome extensions; undefined if one is not a version. */
export const compareChromeVersions = comparison(/^\d+(?:\.\d+){0,3}$/, 4);

/** @param length shorter lists are filled with 0. */
function comparison(grammar: RegExp, length = 0) {
  return (a: string, b: string): number | undefined => {
    if (!grammar.test(a) || !grammar.test(b)) return undefined;
    const [x, y] = [a, b].map((version) => {
      const numbers = version.split(/[.-]/);
      return [...numbers, ...Array<string>(Math.max(0, length - numbers.length)).fill("0")];
    }) as [string[], string[]];
    return compareLists(x, y, compareDigits);
  };
}
