/**
 * The order of Java versions: "Version Order Specification" of the Maven POM reference (maven.apache.org/pom.html), which Maven's
 * `ComparableVersion` implements. Any text is a version.
 *
 * - Tokens are what stands between dots, hyphens and changes from digit to letter or back; such a change is a hyphen. An empty token is 0.
 * - Null tokens (0, "", `final`, `ga`, `release`) are dropped from the end, and from before each hyphen. A word counts as behind a hyphen
 *   whatever stands before it (`1.foo` = `1-foo`).
 * - Then token by token: `alpha` < `beta` < `milestone` < `rc` = `cr` < `snapshot` < the end = `ga` < `sp` < other words, in alphabetical order
 *   < number behind a hyphen < number behind a dot. `a`, `b` and `m` before a digit are `alpha`, `beta` and `milestone`.
 *
 * The specification pads the shorter version with nulls. What is left of a null token after the dropping is followed by a number behind a dot, so
 * the end always comes just before it, and keys need no padding.
 */
import { numberKey, type VersionOrder, wordKey } from "./sort-key.ts";

interface Token {
  readonly text: string;
  readonly isNumber: boolean;
  readonly isHyphenated: boolean;
}

const shortForms: ReadonlyMap<string, string> = new Map([
  ["a", "alpha"],
  ["b", "beta"],
  ["m", "milestone"],
]);

const end = "6";
/** The first letter of a word's key, by the rank of the word; all others are `9` and their letters. */
const ranks: ReadonlyMap<string, string> = new Map([
  ["alpha", "1"],
  ["beta", "2"],
  ["milestone", "3"],
  ["rc", "4"],
  ["cr", "4"],
  ["snapshot", "5"],
  ["", "7"],
  ["final", "7"],
  ["ga", "7"],
  ["release", "7"],
  ["sp", "8"],
]);

/** The order of a version. */
export function mavenOrder(version: string): VersionOrder {
  const keys = withoutNulls(tokensOf(version.toLowerCase())).map(keyOf);
  return { key: keys.join("") + end, isStable: !keys.some((key) => key < end) };
}

function tokensOf(version: string): Token[] {
  const tokens: Token[] = [];
  let isHyphenated = false;
  for (const part of version.split(/(?<=[.-])/)) {
    const separator = /[.-]$/.exec(part)?.[0];
    const words = (separator === undefined ? part : part.slice(0, -1)).match(/[0-9]+|[^0-9]+/g) ?? ["0"];
    for (const [i, word] of words.entries()) {
      const isNumber = /^[0-9]/.test(word);
      const isBeforeDigit = !isNumber && i + 1 < words.length;
      const text = (isBeforeDigit && shortForms.get(word)) || word;
      tokens.push({ text, isNumber, isHyphenated: isHyphenated || i > 0 || !isNumber });
      isHyphenated = false;
    }
    isHyphenated = separator === "-";
  }
  return tokens;
}

function withoutNulls(tokens: readonly Token[]): Token[] {
  const kept: Token[] = [];
  for (const token of tokens) {
    if (token.isHyphenated) dropNulls(kept);
    kept.push(token);
  }
  dropNulls(kept);
  return kept;
}

function dropNulls(tokens: Token[]): void {
  while (tokens.length > 0 && isNull(tokens.at(-1)!)) tokens.pop();
}

function isNull({ text, isNumber }: Token): boolean {
  return isNumber ? /^0+$/.test(text) : ranks.get(text) === "7";
}

function keyOf({ text, isNumber, isHyphenated }: Token): string {
  if (isNumber) return (isHyphenated ? "a" : "b") + numberKey(text);
  return ranks.get(text) ?? `9${wordKey(text)}`;
}
