/**
 * The order of versions of other types of packages: a superset of Semantic Versioning 2.0.0 (item 11) with any count of
 * numbers, suitable for most language ecosystems.
 *
 * A leading `v` and build metadata after `+` do not count. Runs of digits compare as numbers; a missing number is 0. A
 * pre-release word (`alpha`, `rc`, `dev`, any unknown word) is less than no word; `post`, `sp` and similar are greater.
 * Words compare as texts.
 */
import { compareDigits } from "./digits.ts";

/** Words that order after the release. */
const afterRelease = new Set(["post", "patch", "p", "pl", "r", "rev", "sp"]);
/** Words that do not count. */
const ignored = new Set(["final", "ga", "release"]);

/** Negative if `a` is before `b`, 0 if they are equal, positive if it is after. */
export function compareReleaseVersions(a: string, b: string): number {
  const [x, y] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const order = compareParts(x[i], y[i]);
    if (order !== 0) return order;
  }
  return 0;
}

function partsOf(version: string): string[] {
  const plain = version
    .trim()
    .toLowerCase()
    .replace(/^v(?=[0-9])/, "")
    .replace(/\+.*$/s, "");
  return (plain.match(/[0-9]+|[a-z]+/g) ?? []).filter((part) => !ignored.has(part));
}

/** A number other than 0 is greater than a word after the release: 1.0.1 is after 1.0-post1, 1.0.0 is not. */
function compareParts(x: string | undefined, y: string | undefined): number {
  const [a, b] = [rank(x), rank(y)];
  if (a !== b) return a - b;
  if (x === undefined || y === undefined || a === 1) return 0;
  if (a === 3) return compareDigits(x, y);
  return x < y ? -1 : x > y ? 1 : 0;
}

function rank(part: string | undefined): number {
  if (part === undefined || /^0+$/.test(part)) return 1;
  if (/^[0-9]/.test(part)) return 3;
  return afterRelease.has(part) ? 2 : 0;
}
