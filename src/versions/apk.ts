/**
 * The order of apk versions, as in apk-tools 3 (`src/version.c`).
 *
 *     version = digits *("." digits) [letter] *("_" suffix [digits]) ["~" hash] ["-r" digits]
 *
 * Versions compare part by part while the kinds of their parts are the same: numbers as numbers, numbers after a dot as
 * texts if either begins with 0, suffixes by rank (alpha, beta, pre, rc, none, cvs, svn, git, hg, p), hashes as texts.
 * Where the kinds differ, a pre-release suffix is less. Otherwise the kind earlier in the grammar is greater, and the
 * end is least.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareTexts } from "./parts.ts";

/** The kinds of parts, in the order of the grammar. */
const kinds = ["initial", "digits", "letter", "suffix", "suffixNumber", "hash", "revision", "end", "invalid"] as const;

interface Part {
  readonly kind: (typeof kinds)[number];
  readonly text: string;
}

/** Each kind of part, its pattern, and the kinds that it may follow. */
const grammar: readonly (readonly [kind: Part["kind"], pattern: RegExp, after: readonly Part["kind"][]])[] = [
  ["digits", /\.([0-9]+)/y, ["initial", "digits"]],
  ["letter", /([a-z])/y, ["initial", "digits"]],
  ["suffix", /_([a-z]+)/y, ["initial", "digits", "letter", "suffix", "suffixNumber"]],
  ["suffixNumber", /([0-9]+)/y, ["suffix"]],
  ["hash", /~([0-9a-f]+)/y, ["initial", "digits", "letter", "suffix", "suffixNumber"]],
  ["revision", /-r([0-9]+)/y, ["initial", "digits", "letter", "suffix", "suffixNumber", "hash"]],
];

const suffixes = ["alpha", "beta", "pre", "rc", "", "cvs", "svn", "git", "hg", "p"];
const release = suffixes.indexOf("");

/** The order of apk. Any text is a version; what does not follow the grammar is a part of its own. */
export const apkOrdering: Ordering<readonly Part[]> = { parse: partsOf, compare };

function compare(left: readonly Part[], right: readonly Part[]): number {
  for (let i = 0; ; i++) {
    const [x, y] = [left[i]!, right[i]!];
    if (x.kind !== y.kind) {
      if (isBeforeRelease(x)) return -1;
      if (isBeforeRelease(y)) return 1;
      return kinds.indexOf(y.kind) - kinds.indexOf(x.kind);
    }
    const order = compareParts(x, y);
    if (order !== 0 || x.kind === "end" || x.kind === "invalid") return order;
  }
}

/** The parts of a version. The last is its end, or the rest of a text that is not a version. */
function partsOf(version: string): Part[] {
  const parts: Part[] = [];
  const first = /^[0-9]+/.exec(version)?.[0];
  if (first === undefined) return [{ kind: "invalid", text: version }];
  parts.push({ kind: "initial", text: first });
  let at = first.length;
  while (at < version.length) {
    const before = parts.at(-1)!.kind;
    const next = grammar.find(([, pattern, after]) => {
      pattern.lastIndex = at;
      return after.includes(before) && pattern.test(version);
    });
    if (next === undefined) return [...parts, { kind: "invalid", text: version.slice(at) }];
    const [kind, pattern] = next;
    pattern.lastIndex = at;
    const [whole = "", text = ""] = pattern.exec(version)!;
    if (kind === "suffix" && !suffixes.includes(text)) return [...parts, { kind: "invalid", text: version.slice(at) }];
    parts.push({ kind, text });
    at += whole.length;
  }
  return [...parts, { kind: "end", text: "" }];
}

function compareParts(x: Part, y: Part): number {
  switch (x.kind) {
    case "suffix":
      return suffixes.indexOf(x.text) - suffixes.indexOf(y.text);
    case "digits":
      return x.text.startsWith("0") || y.text.startsWith("0")
        ? compareTexts(x.text, y.text)
        : compareDigits(x.text, y.text);
    case "initial":
    case "suffixNumber":
    case "revision":
      return compareDigits(x.text, y.text);
    default:
      return compareTexts(x.text, y.text);
  }
}

function isBeforeRelease({ kind, text }: Part): boolean {
  return kind === "suffix" && suffixes.indexOf(text) < release;
}
