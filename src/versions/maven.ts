/**
 * The order of Java versions: `ComparableVersion` of Maven 3.8, described in the "Version Order Specification" of the
 * Maven POM reference (maven.apache.org/pom.html). Any text is a version.
 *
 * - Tokens are separated by dots, hyphens, and changes between digits and letters. An empty token before a separator is
 *   0.
 * - A hyphen and such a change begin a nested list. So does a word before a digit or at the end, unless it is the first
 *   token of its list. A list has at most one nested list, as its last token.
 * - Null tokens (0, "", `final`, `ga`, `release`) are dropped at the end of a list, and before a nested list.
 * - Lists compare token by token: `alpha` < `beta` < `milestone` < `rc` = `cr` < `snapshot` < the end = `ga` < `sp` <
 *   other words, in alphabetical order < list < number. A list compares with the end as with an empty list. `a`, `b`
 *   and `m` before a digit are `alpha`, `beta` and `milestone`.
 *
 * Maven's comparison is not transitive: `1` < `1-sp` < `1-0-snapshot` < `1`. {@link mavenOrdering} is that of
 * Maven 3.8 and 3.9. It compares pairs and does not sort. In {@link mavenOrder} a list that is less than the end, such
 * as that of `0-snapshot`, is also less than `sp` and other words. Everything else is as in Maven.
 */
import type { Ordering } from "./ordering.ts";
import { compareTexts, compareToEnd } from "./parts.ts";
import { numberKey, type VersionOrder, wordKey } from "./sort-key.ts";

/** A number by its digits, or a word by its rank. */
type Token = { readonly digits: string } | { readonly word: string };

/** A list of tokens as a key. */
interface ListKey {
  readonly key: string;
  /** How the list compares with an empty one. */
  readonly sign: number;
}

const shortForms: ReadonlyMap<string, string> = new Map([
  ["a", "alpha"],
  ["b", "beta"],
  ["m", "milestone"],
]);

/** First characters of keys, in order. A null token sorts before the end if a token that does so follows it. */
const lowNullWord = "6";
const lowList = "7";
const lowZero = "8";
const end = "9";
const nullWord = "a";
const otherWord = "c";
const highList = "d";
const number = "e";

/** Keys of words. The key of any other word is {@link otherWord} and its letters. */
const ranks: ReadonlyMap<string, string> = new Map([
  ["alpha", "1"],
  ["beta", "2"],
  ["milestone", "3"],
  ["rc", "4"],
  ["cr", "4"],
  ["snapshot", "5"],
  ["", nullWord],
  ["final", nullWord],
  ["ga", nullWord],
  ["release", nullWord],
  ["sp", "b"],
]);

/** The order of a version. */
export function mavenOrder(version: string): VersionOrder {
  const lists = listsOf(version.toLowerCase());
  const { key } = lists.reduceRight(listKey, { key: end, sign: 0 });
  const isStable = !lists.flat().some((token) => "word" in token && keyOf(token) < end);
  return { key, isStable };
}

/** The tokens of each list, from the outermost to the innermost. */
function listsOf(version: string): Token[][] {
  const lists: Token[][] = [[]];
  let isFresh = true; // the next token is the first, or follows a separator
  for (const [text, digits, word, after, separator] of version.matchAll(/([0-9]+)|([^0-9.-]+)(?=([0-9]|$)|)|([.-])/g)) {
    if (separator !== undefined) {
      if (isFresh) lists.at(-1)!.push({ digits: "0" });
      if (separator === "-") lists.push([]);
      isFresh = true;
      continue;
    }
    const isAfterSeparator = isFresh;
    isFresh = false;
    const isLead = word !== undefined && after !== undefined; // before a digit or at the end
    if (!isAfterSeparator || (isLead && lists.at(-1)!.length > 0)) lists.push([]);
    lists.at(-1)!.push(digits !== undefined ? { digits } : { word: (after && shortForms.get(text)) || text });
  }
  return lists;
}

/** The key of a list of tokens, given that of its nested list. */
function listKey(inner: ListKey, tokens: readonly Token[]): ListKey {
  let { sign } = inner;
  let key = sign === 0 ? end : (sign < 0 ? lowList : highList) + inner.key;
  for (const token of withoutNullEnd(tokens).reverse()) {
    sign = signOf(token) || sign;
    key = (sign < 0 ? lowKeyOf(token) : keyOf(token)) + key;
  }
  return { key, sign };
}

function withoutNullEnd(tokens: readonly Token[]): Token[] {
  return tokens.slice(0, tokens.findLastIndex((token) => signOf(token) !== 0) + 1);
}

/** How a token compares with the end. */
function signOf(token: Token): number {
  if ("digits" in token) return isZero(token) ? 0 : 1;
  const key = keyOf(token);
  return key === nullWord ? 0 : key < end ? -1 : 1;
}

/** The key of a token if the list from it on is less than the end. */
function lowKeyOf(token: Token): string {
  if (isZero(token)) return lowZero;
  const key = keyOf(token);
  return key === nullWord ? lowNullWord : key;
}

function isZero(token: Token): boolean {
  return "digits" in token && /^0+$/.test(token.digits);
}

function keyOf(token: Token): string {
  if ("digits" in token) return number + numberKey(token.digits);
  return ranks.get(token.word) ?? otherWord + wordKey(token.word);
}

/** A token, or a list as the last item of another. */
type Item = Token | readonly Item[];

/** The order of Maven for pairs of versions. Any text is a version. */
export const mavenOrdering: Ordering<readonly Item[]> = { parse: nestedLists, compare: compareItems };

function nestedLists(version: string): readonly Item[] {
  return listsOf(version.toLowerCase()).reduceRight<readonly Item[]>(
    (inner, tokens) => [...withoutNullEnd(tokens), ...(inner.length > 0 ? [inner] : [])],
    [],
  );
}

/** @param b undefined where the other list ends. */
function compareItems(a: Item, b: Item | undefined): number {
  if (isList(a)) {
    if (b === undefined) return a.map((item) => compareItems(item, undefined)).find((sign) => sign !== 0) ?? 0;
    if (!isList(b)) return "digits" in b ? -1 : 1;
    return compareToEnd(a, b, (left, right) =>
      left === undefined ? -compareItems(right!, undefined) : compareItems(left, right),
    );
  }
  if (b === undefined) return signOf(a);
  if (isList(b) || "digits" in a !== "digits" in b) return "digits" in a ? 1 : -1;
  return compareTexts(keyOf(a), keyOf(b));
}

function isList(item: Item): item is readonly Item[] {
  return Array.isArray(item);
}
