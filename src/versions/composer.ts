/**
 * The order of PHP versions: normalized as by Composer (`VersionParser`), then compared as by PHP (`version_compare`).
 *
 * - A version has one to four numbers, or a date. Missing numbers are 0.
 * - Stability follows: `-dev`, `alpha`, `beta`, `RC`, none, `patch`, each with a number. A leading `v`, a `stable`, and
 *   build metadata do not count.
 * - A numeric branch, `1.x-dev`, is after all versions of it and before the next. Other branches have no order.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareToEnd, isDigits } from "./parts.ts";

const modifier = String.raw`[._-]?(?:(stable|beta|b|RC|alpha|a|patch|pl|p)((?:[.-]?\d+(?:[.-]\d+)*)?))?([.-]?dev)?`;
const numbered = new RegExp(String.raw`^v?(\d{1,5})(\.\d+)?(\.\d+)?(\.\d+)?${modifier}$`, "i");
const dated = new RegExp(String.raw`^v?(\d{4}(?:[.:-]?\d{2}){1,6}(?:[.:-]?\d{1,3})?)${modifier}$`, "i");
const branch = /^v?(\d+)(\.(?:\d+|[x*]))?(\.(?:\d+|[x*]))?(\.(?:\d+|[x*]))?[.-]?dev$/i;

const stabilities: Readonly<Record<string, string>> = { a: "alpha", b: "beta", p: "patch", pl: "patch" };

/** The words of `version_compare` in order, as prefixes. Other words are before all of them; `#` is a number. */
const ranks: readonly (readonly [prefix: string, rank: number])[] = [
  ["dev", 0],
  ["a", 1],
  ["b", 2],
  ["rc", 3],
  ["#", 4],
  ["p", 5],
];

/** The order of Composer. */
export const composerOrdering: Ordering<readonly string[]> = {
  parse: partsOf,
  compare: (a, b) => compareToEnd(a, b, compareParts),
};

/** The numbers and words of a normalized version. */
function partsOf(text: string): string[] | undefined {
  const version = text
    .trim()
    .replace(/@(?:stable|RC|beta|alpha|dev)$/i, "")
    .replace(/^([^,\s+]+)\+\S+$/, "$1");
  return normalize(version)?.match(/\d+|[a-z]+/g) ?? undefined;
}

function normalize(version: string): string | undefined {
  const numbers = numbered.exec(version);
  if (numbers !== null) {
    const [, major, minor = ".0", patch = ".0", revision = ".0", ...modifiers] = numbers;
    return `${major}${minor}${patch}${revision}${suffixOf(modifiers)}`;
  }
  const date = dated.exec(version);
  if (date !== null) return date[1]!.replace(/\D/g, ".") + suffixOf(date.slice(2));
  const [, ...parts] = branch.exec(version) ?? [];
  if (parts.length === 0) return undefined;
  return `${parts.map((part) => (part ?? ".x").replace(/[x*]/i, "9999999")).join("")}-dev`;
}

function suffixOf([stability = "", number = "", dev = ""]: readonly (string | undefined)[]): string {
  const word = stability.toLowerCase();
  if (word === "stable") return "";
  const full = stabilities[word] ?? word;
  return (full === "" ? "" : `-${full}${number.replace(/^[.-]+/, "")}`) + (dev === "" ? "" : "-dev");
}

/** Where one version ends, a number of the other is greater, and a word compares with a number. */
function compareParts(x: string | undefined, y: string | undefined): number {
  if (x === undefined) return isDigits(y!) ? -1 : rank("#") - rank(y!);
  if (y === undefined) return isDigits(x) ? 1 : rank(x) - rank("#");
  if (isDigits(x) && isDigits(y)) return compareDigits(x, y);
  return rank(isDigits(x) ? "#" : x) - rank(isDigits(y) ? "#" : y);
}

function rank(word: string): number {
  return ranks.find(([prefix]) => word.startsWith(prefix))?.[1] ?? -1;
}
