/**
 * The order of RPM versions (`rpmvercmp` of rpm 4.15 and later): `[epoch:]version[-release]`.
 *
 * Versions are runs of digits and runs of letters; all other characters only separate them. Digits compare as numbers
 * and are greater than letters. Letters compare as texts. If one version is a prefix of the other, the longer is
 * greater. `~` is less than everything, including the end; `^` is less than everything but the end. A version without a
 * release is before the same version with one, also with an empty one.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareTexts, compareToEnd } from "./parts.ts";

type Runs = readonly string[];

interface Version {
  readonly epoch: Runs;
  readonly version: Runs;
  readonly release: Runs | undefined;
}

/** The order of RPM. Any text is a version. */
export const rpmOrdering: Ordering<Version> = {
  parse,
  compare: (x, y) =>
    compareRuns(x.epoch, y.epoch) || compareRuns(x.version, y.version) || compareReleases(x.release, y.release),
};

function compareReleases(a: Runs | undefined, b: Runs | undefined): number {
  return a === undefined || b === undefined ? Number(b === undefined) - Number(a === undefined) : compareRuns(a, b);
}

function parse(text: string): Version {
  const [, epoch = "0", rest = ""] = /^(?:([0-9]+):)?(.*)$/s.exec(text)!;
  const dash = rest.lastIndexOf("-");
  return {
    epoch: runsOf(epoch),
    version: runsOf(dash < 0 ? rest : rest.slice(0, dash)),
    release: dash < 0 ? undefined : runsOf(rest.slice(dash + 1)),
  };
}

function runsOf(text: string): Runs {
  return text.match(/[0-9]+|[a-zA-Z]+|[~^]/g) ?? [];
}

function compareRuns(x: Runs, y: Runs): number {
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
