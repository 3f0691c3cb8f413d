/**
 * An order of release numbers that fits what most language ecosystems write (Semantic Versioning 2.0.0, 11, with any count of numbers).
 *
 * `v` in front and build metadata after `+` do not count. Runs of digits compare as numbers, a number that is missing is 0. A word before a release
 * (`alpha`, `rc`, `dev`, any that is not known) is less than none, `post`, `sp` and the like are more; words compare as texts.
 */

/** Words that come after the release they follow; `final` and its like say nothing. */
const afterRelease = new Set(["post", "patch", "p", "pl", "r", "rev", "sp"]);
const silent = new Set(["final", "ga", "release"]);

/** Less than 0 when `a` is before `b`, 0 when they are the same, more when it is after. */
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
  return (plain.match(/[0-9]+|[a-z]+/g) ?? []).filter((part) => !silent.has(part));
}

/** Numbers stand above words after a release only when they are not 0: 1.0.1 is after 1.0-post1, 1.0.0 is not. */
function compareParts(x: string | undefined, y: string | undefined): number {
  const [a, b] = [rank(x), rank(y)];
  if (a !== b) return a - b;
  if (x === undefined || y === undefined || a === 1) return 0;
  const [m, n] = a === 3 ? [x.replace(/^0+/, ""), y.replace(/^0+/, "")] : [x, y];
  if (a === 3 && m.length !== n.length) return m.length - n.length;
  return m < n ? -1 : m > n ? 1 : 0;
}

function rank(part: string | undefined): number {
  if (part === undefined || /^0+$/.test(part)) return 1;
  if (/^[0-9]/.test(part)) return 3;
  return afterRelease.has(part) ? 2 : 0;
}
