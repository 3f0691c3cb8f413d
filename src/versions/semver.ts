/**
 * The order of JavaScript versions: Semantic Versioning 2.0.0, items 9 to 11 (semver.org):
 *
 *     MAJOR.MINOR.PATCH[-PRE-RELEASE][+BUILD]
 *
 * A pre-release is before its release. Its identifiers compare one by one, numbers before words; a longer list is after
 * its prefix. Build metadata does not count.
 */
import { numberKey, type VersionOrder, wordKey } from "./sort-key.ts";

const number = String.raw`(?:0|[1-9]\d*)`;
const identifier = String.raw`(?:${number}|\d*[A-Za-z-][0-9A-Za-z-]*)`;
const grammar = new RegExp(
  String.raw`^(${number})\.(${number})\.(${number})(?:-(${identifier}(?:\.${identifier})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`,
);

/** The order of a version; undefined for a text that is not a version. */
export function semverOrder(version: string): VersionOrder | undefined {
  const match = grammar.exec(version);
  if (match === null) return undefined;
  const [, major = "", minor = "", patch = "", preRelease] = match;
  const release = numberKey(major) + numberKey(minor) + numberKey(patch);
  if (preRelease === undefined) return { key: `${release}3`, isStable: true };
  const identifiers = preRelease.split(".").map((id) => (/^\d+$/.test(id) ? `1${numberKey(id)}` : `2${wordKey(id)}`));
  return { key: `${release}${identifiers.join("")}0`, isStable: false };
}
