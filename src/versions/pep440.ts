/**
 * The order of Python versions, as PEP 440 defines it ("Version specifiers", packaging.python.org):
 *
 *     [v][EPOCH!]N(.N)*[{a|b|rc}N][.postN][.devN][+LOCAL]
 *
 * with the spellings of appendix B (`alpha`, `c`, `-1` for `.post1`, `_`, `-` and `.` between the parts, upper case).
 * Trailing zeros of the release do not count. Within a release: `.devN` < `aN` < `bN` < `rcN` < the release itself <
 * `.postN`. Before each of them comes its own `.devN`, after it come its local versions. Parts of local versions
 * compare as words or as numbers; numbers are after words.
 */
import type { Ordering } from "./ordering.ts";
import { compareTexts } from "./parts.ts";
import { numberKey, type VersionOrder, wordKey } from "./sort-key.ts";

const grammar = new RegExp(
  String.raw`^v?(?:(?<epoch>\d+)!)?(?<release>\d+(?:\.\d+)*)` +
    String.raw`(?:[-_.]?(?<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?<preNumber>\d*))?` +
    String.raw`(?<post>-(?<postOnly>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?<postNumber>\d*))?` +
    String.raw`(?<dev>[-_.]?dev[-_.]?(?<devNumber>\d*))?` +
    String.raw`(?:\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`,
);

/** The order of a version; undefined for a text that is not a version. */
export function pep440Order(version: string): VersionOrder | undefined {
  const parts = grammar.exec(version.toLowerCase())?.groups;
  if (parts === undefined) return undefined;
  const { epoch = "0", release = "", pre, post, dev, local } = parts;
  return {
    key:
      numberKey(epoch) +
      releaseKey(release) +
      preKey(pre, parts.preNumber, post === undefined && dev !== undefined) +
      (post === undefined ? "0" : `1${numberKey(parts.postOnly || parts.postNumber || "0")}`) +
      (dev === undefined ? "1" : `0${numberKey(parts.devNumber || "0")}`) +
      (local === undefined ? "0" : `1${localKey(local)}`),
    isStable: pre === undefined && dev === undefined,
  };
}

/** The order of Python for pairs of versions, by their keys. */
export const pep440Ordering: Ordering<string> = {
  parse: (version) => pep440Order(version.trim())?.key,
  compare: compareTexts,
};

function releaseKey(release: string): string {
  const numbers = release.split(".").map(numberKey);
  while (numbers.at(-1) === numberKey("0")) numbers.pop();
  return `${numbers.map((number) => `1${number}`).join("")}0`;
}

/** @param isOnlyDev a `.devN` of the release itself, which is before the pre-releases. */
function preKey(letters: string | undefined, number: string | undefined, isOnlyDev: boolean): string {
  if (letters === undefined) return isOnlyDev ? "0" : "4";
  const rank = letters.startsWith("a") ? "1" : letters.startsWith("b") ? "2" : "3";
  return rank + numberKey(number || "0");
}

function localKey(local: string): string {
  const parts = local.split(/[-_.]/).map((part) => (/^\d+$/.test(part) ? `2${numberKey(part)}` : `1${wordKey(part)}`));
  return `${parts.join("")}0`;
}
