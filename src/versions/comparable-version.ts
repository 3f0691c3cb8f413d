/**
 * Maven's comparison of two versions: `ComparableVersion` of Maven 3.8 and 3.9. Any text is a version. The comparison
 * is not transitive, so it compares pairs and does not sort; `maven.ts` has the order for lists.
 */
import { compareToEnd } from "./parts.ts";

type Item = bigint | string | Item[];

const qualifiers = ["alpha", "beta", "milestone", "rc", "snapshot", "", "sp"];
const aliases: Readonly<Record<string, string>> = { ga: "", final: "", release: "", cr: "rc" };
const shortForms: Readonly<Record<string, string>> = { a: "alpha", b: "beta", m: "milestone" };

/** Negative if `a` is before `b`, 0 if they are equal, positive if it is after. */
export function compareMavenVersions(a: string, b: string): number {
  return compareItems(parse(a), parse(b));
}

function parse(text: string): Item[] {
  const version = text.toLowerCase();
  let list: Item[] = [];
  const stack = [list];
  const descend = () => {
    const inner: Item[] = [];
    list.push(inner);
    stack.push(inner);
    list = inner;
  };
  let isDigit = false;
  let start = 0;
  for (let i = 0; i < version.length; i++) {
    const letter = version[i]!;
    if (letter === "." || letter === "-") {
      list.push(i === start ? 0n : itemOf(isDigit, version.slice(start, i)));
      start = i + 1;
      if (letter === "-") descend();
    } else if (/[0-9]/.test(letter)) {
      if (!isDigit && i > start) {
        if (list.length > 0) descend();
        const word = version.slice(start, i);
        list.push(itemOf(false, Object.hasOwn(shortForms, word) ? shortForms[word]! : word));
        start = i;
        descend();
      }
      isDigit = true;
    } else {
      if (isDigit && i > start) {
        list.push(itemOf(true, version.slice(start, i)));
        start = i;
        descend();
      }
      isDigit = false;
    }
  }
  if (version.length > start) {
    if (!isDigit && list.length > 0) descend();
    list.push(itemOf(isDigit, version.slice(start)));
  }
  for (const each of stack.reverse()) normalize(each);
  return stack.at(-1)!;
}

function itemOf(isDigit: boolean, text: string): Item {
  if (isDigit) return BigInt(text);
  return Object.hasOwn(aliases, text) ? aliases[text]! : text;
}

function normalize(list: Item[]): void {
  for (let i = list.length - 1; i >= 0; i--) {
    const item = list[i]!;
    if (item === 0n || item === "" || (Array.isArray(item) && item.length === 0)) list.splice(i, 1);
    else if (!Array.isArray(item)) break;
  }
}

function compareItems(a: Item, b: Item | undefined): number {
  if (typeof a === "bigint") {
    if (b === undefined) return a === 0n ? 0 : 1;
    return typeof b === "bigint" ? Number(a > b) - Number(a < b) : 1;
  }
  if (typeof a === "string") {
    if (b !== undefined && typeof b !== "string") return -1;
    const [x, y] = [comparable(a), comparable(b ?? "")];
    return Number(x > y) - Number(x < y);
  }
  if (b === undefined) return a.map((item) => compareItems(item, undefined)).find((sign) => sign !== 0) ?? 0;
  if (!Array.isArray(b)) return typeof b === "bigint" ? -1 : 1;
  return compareToEnd(a, b, (left, right) =>
    left === undefined ? -compareItems(right!, undefined) : compareItems(left, right),
  );
}

function comparable(word: string): string {
  const place = qualifiers.indexOf(word);
  return place < 0 ? `${qualifiers.length}-${word}` : String(place);
}
