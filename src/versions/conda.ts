/**
 * The order of Conda versions (`VersionOrder`): `[EPOCH!]VERSION[+LOCAL]`.
 *
 * Versions are components separated by `.` and `_`, each of runs of digits and of other characters, without case. A
 * component that begins with a word has a 0 before it. Missing components and runs are 0. Runs compare: `*` < `dev` <
 * `_` < other words < numbers < `post`.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareTexts, compareToEnd, isDigits } from "./parts.ts";

const grammar = /^(?:([0-9]+)!)?([*._0-9a-z]+)(?:\+([*._0-9a-z]+))?$/;

type Component = readonly string[];

interface Version {
  readonly version: readonly Component[];
  readonly local: readonly Component[];
}

/** The order of Conda. */
export const condaOrdering: Ordering<Version> = {
  parse,
  compare: (x, y) => compareComponents(x.version, y.version) || compareComponents(x.local, y.local),
};

function parse(text: string): Version | undefined {
  const trimmed = text.trim().toLowerCase();
  const [, epoch = "0", version, local] =
    grammar.exec(trimmed.includes("_") ? trimmed : trimmed.replaceAll("-", "_")) ?? [];
  if (version === undefined) return undefined;
  // An underscore at the end belongs to the last component.
  const [, main = "", end = ""] = /^(.*?)(_?)$/.exec(version)!;
  const components = main.split(/[._]/);
  const names = [epoch, ...components.slice(0, -1), components.at(-1)! + end];
  const localNames = local?.split(/[._]/) ?? [];
  if ([...names, ...localNames].includes("")) return undefined;
  return { version: names.map(runsOf), local: localNames.map(runsOf) };
}

function runsOf(component: string): Component {
  const runs = component.match(/[0-9]+|\*+|[^0-9*]+/g)!.map((run) => (run === "dev" ? "DEV" : run));
  return isDigits(runs[0]!) ? runs : ["0", ...runs];
}

function compareComponents(x: readonly Component[], y: readonly Component[]): number {
  return compareToEnd(x, y, (left = [], right = []) => compareToEnd(left, right, compareRuns));
}

function compareRuns(x = "0", y = "0"): number {
  return rank(x) - rank(y) || (isDigits(x) ? compareDigits(x, y) : compareTexts(x, y));
}

function rank(run: string): number {
  return run === "post" ? 2 : isDigits(run) ? 1 : 0;
}
