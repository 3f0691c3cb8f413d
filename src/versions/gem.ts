/**
 * The order of Ruby versions (`Gem::Version`): `1.2.3`, `2.0.0.rc1`, `2.0.0-java`.
 *
 * A version is a list of runs of digits and letters; `-` is `.pre.`. Zeros at the end, and before the first word, do
 * not count. Lists compare run by run, a missing run as 0: words before numbers, words by their characters.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareTexts, compareToEnd, isDigits } from "./parts.ts";

const grammar = /^\s*(?:[0-9]+(?:\.[0-9a-zA-Z]+)*(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)?\s*$/;

/** The order of RubyGems. */
export const gemOrdering: Ordering<readonly string[]> = {
  parse: (version) => (grammar.test(version) ? runsOf(version) : undefined),
  compare: (a, b) => compareToEnd(a, b, compareRuns),
};

function runsOf(version: string): string[] {
  const runs = version.replaceAll("-", ".pre.").match(/[0-9]+|[a-zA-Z]+/g) ?? [];
  const firstWord = runs.findIndex((run) => !isDigits(run));
  const end = firstWord < 0 ? runs.length : firstWord;
  return [...withoutZeros(runs.slice(0, end)), ...withoutZeros(runs.slice(end))];
}

function withoutZeros(runs: string[]): string[] {
  return runs.slice(0, runs.findLastIndex((run) => !/^0+$/.test(run)) + 1);
}

function compareRuns(x = "0", y = "0"): number {
  if (isDigits(x) !== isDigits(y)) return isDigits(x) ? 1 : -1;
  return isDigits(x) ? compareDigits(x, y) : compareTexts(x, y);
}
