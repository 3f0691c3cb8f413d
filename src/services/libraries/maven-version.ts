/**
 * The order of Java versions: that of Maven's `ComparableVersion`, release 3.8, which the "Version Order Specification" of the Maven POM reference
 * (maven.apache.org/pom.html) describes. Any text is a version.
 *
 * - Tokens are what stands between dots, hyphens and changes from digit to letter or back. An empty token before a separator is 0.
 * - A hyphen and such a change begin a list within the list, and so does a word before a digit or at the end that is not first in its list. A list
 *   has one list at most, as its last token.
 * - Null tokens (0, "", `final`, `ga`, `release`) are dropped from the end of a list, and from before the list in it.
 * - Lists compare token by token: `alpha` < `beta` < `milestone` < `rc` = `cr` < `snapshot` < the end = `ga` < `sp` < other words, in alphabetical
 *   order < list < number. A list compares with the end as it does with an empty list. `a`, `b` and `m` before a digit are `alpha`, `beta`
 *   and `milestone`.
 *
 * Maven's comparison runs in a circle: `1` < `1-sp` < `1-0-snapshot` < `1`. No order can follow it there. Here a list below the end, such as
 * the one of `0-snapshot`, is below `sp` and other words too; all else is as Maven has it.
 */
import { numberKey, type VersionOrder, wordKey } from "./sort-key.ts";

/** A number by its digits, or a word by its rank. */
type Token = { readonly digits: string } | { readonly word: string };

/** What a list of tokens comes to: its key, and how it compares with an empty one. */
interface Listed {
  readonly key: string;
  readonly sign: number;
}

const shortForms: ReadonlyMap<string, string> = new Map([
  ["a", "alpha"],
  ["b", "beta"],
  ["m", "milestone"],
]);

/** The first letters of keys, in their order. What is null is below the end where something below the end follows. */
const lowNullWord = "6";
const lowList = "7";
const lowZero = "8";
const end = "9";
const nullWord = "a";
const otherWord = "c";
const highList = "d";
const number = "e";

/** The key of a word; of all others {@link otherWord} and their letters. */
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
  const { key } = lists.reduceRight(listed, { key: end, sign: 0 });
  const isStable = !lists.flat().some((token) => "word" in token && keyOf(token) < end);
  return { key, isStable };
}

/** The tokens of each list, from the outermost to the innermost. */
function listsOf(version: string): Token[][] {
  const lists: Token[][] = [[]];
  let isFresh = true; // nothing or a separator stands before the next token
  for (const [text, digits, word, after, separator] of version.matchAll(/([0-9]+)|([^0-9.-]+)(?=([0-9]|$)|)|([.-])/g)) {
    if (separator !== undefined) {
      if (isFresh) lists.at(-1)!.push({ digits: "0" });
      if (separator === "-") lists.push([]);
      isFresh = true;
      continue;
    }
    const isAfterSeparator = isFresh;
    isFresh = false;
    const isLead = word !== undefined && after !== undefined; // before a digit, or last
    if (!isAfterSeparator || (isLead && lists.at(-1)!.length > 0)) lists.push([]);
    lists.at(-1)!.push(digits !== undefined ? { digits } : { word: (after && shortForms.get(text)) || text });
  }
  return lists;
}

/** A list of tokens with the list in it. */
function listed(inner: Listed, tokens: readonly Token[]): Listed {
  const kept = tokens.slice(0, tokens.findLastIndex((token) => signOf(token) !== 0) + 1);
  let { sign } = inner;
  let key = sign === 0 ? end : (sign < 0 ? lowList : highList) + inner.key;
  for (const token of kept.reverse()) {
    sign = signOf(token) || sign;
    key = (sign < 0 ? lowKeyOf(token) : keyOf(token)) + key;
  }
  return { key, sign };
}

/** How a token compares with the end. */
function signOf(token: Token): number {
  if ("digits" in token) return isZero(token) ? 0 : 1;
  const key = keyOf(token);
  return key === nullWord ? 0 : key < end ? -1 : 1;
}

/** The key of a token that what follows makes lower than the end, or is lower itself. */
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
