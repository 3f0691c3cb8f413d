/**
 * The order of RPM versions (`rpmvercmp` of rpm 4.15 and later): `[epoch:]version[-release]`.
 *
 * Versions are runs of digits and runs of letters; all other characters only separate them. Digits compare as numbers
 * and are greater than letters. Letters compare as texts. If one version is a prefix of the other, the longer is
 * greater. `~` is less than everything, including the end; `^` is less than everything but the end. A version without a
 * release is before the same version with one, also with an empty one.
 */
import { compareDigits, compareTexts, compareToEnd } from "./parts.ts";

/** Negative if `a` is before `b`, 0 if they are equal, positive if it is after. */
export function compareRpmVersions(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)];
  return compareRuns(x.epoch, y.epoch) || compareRuns(x.version, y.version) || compareReleases(x.release, y.release);
}

function compareReleases(a: string | undefined, b: string | undefined): number {
  return a === undefined || b === undefined ? Number(b === undefined) - Number(a === undefined) : compareRuns(a, b);
}

function parse(text: string) {
  const [, epoch = "0", rest = ""] = /^(?:([0-9]+):)?(.*)$/s.exec(text)!;
  const dash = rest.lastIndexOf("-");
  return dash < 0
    ? { epoch, version: rest, release: undefined }
    : { epoch, version: rest.slice(0, dash), release: rest.slice(dash + 1) };
}

function compareRuns(a: string, b: string): number {
  const [x, y] = [a.match(/[0-9]+|[a-zA-Z]+|[~^]/g) ?? [], b.match(/[0-9]+|[a-zA-Z]+|[~^]/g) ?? []];
  return compareToEnd(x, y, (left, right) => rank(left) - rank(right) || compareSameKind(left!, right!));
}

/** The order of the kinds of runs: `~`, the end, `^`, letters, digits. */
function rank(run: string | undefined): number {
  if (run === undefined) return 1;
  if (run === "~") return 0;
  if (run === "^") return 2;
  return /^[0-9]/.test(run) ? 4 : 3;
}

function compareSameKind(x: string, y: string): number {
  return /^[0-9]/.test(x) ? compareDigits(x, y) : compareTexts(x, y);
}
