/**
 * The order of JavaScript versions: Semantic Versioning 2.0.0, items 9 to 11 (semver.org):
 *
 *     MAJOR.MINOR.PATCH[-PRE-RELEASE][+BUILD]
 *
 * A pre-release is before its release. Its identifiers compare one by one, numbers before words; a longer list is after
 * its prefix. Build metadata does not count.
 *
 * Other ecosystems use the same grammar. Their orders also accept what tools write for a release: `v1.2.3`, `v1.2`
 * and `1` (golang.org/x/mod/semver).
 */
import type { Ordering } from "./ordering.ts";
import { compareTexts, isDigits } from "./parts.ts";
import { numberKey, type VersionOrder, wordKey } from "./sort-key.ts";

/** The parts of a version. Lists are empty where there are none. */
interface Parts {
  /** The keys of major, minor and patch. */
  readonly release: string;
  readonly preRelease: readonly string[];
  readonly build: readonly string[];
}

const number = String.raw`(?:0|[1-9]\d*)`;
const identifier = String.raw`(?:${number}|\d*[A-Za-z-][0-9A-Za-z-]*)`;
const grammar = new RegExp(
  String.raw`^(${number})\.(${number})\.(${number})(?:-(${identifier}(?:\.${identifier})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$`,
);
const shortRelease = new RegExp(String.raw`^${number}(?:\.${number})?$`);
/** A release of Go itself: `1.21rc2` and `go1.21.0`. */
const goRelease = /^(?:go)?(\d+\.\d+)(\.\d+)?(?:(alpha|beta|rc)(\d+))?$/;

/** Keys of what follows the release: nothing, or the identifiers of a list, whose keys begin with 1 or 2. */
const before = "0";
const after = "3";

/** The order of a version; undefined for a text that is not a version. */
export function semverOrder(version: string): VersionOrder | undefined {
  const parts = parse(version);
  return parts && { key: preReleaseKey(parts), isStable: parts.preRelease.length === 0 };
}

/** The order by precedence: npm, Cargo, Hex, Swift. */
export const semverOrdering = ordering(preReleaseKey);

/** As {@link semverOrdering}, also the releases of Go itself. */
export const goOrdering = ordering(preReleaseKey, (version) => {
  const [, minor, patch = ".0", label, count] = goRelease.exec(version) ?? [];
  return minor === undefined ? version : `${minor}${patch}${label === undefined ? "" : `-${label}.${count}`}`;
});

/** Build metadata counts, and is after none: Pub and Julia. */
export const withBuildOrdering = ordering((parts) => preReleaseKey(parts) + (identifiersKey(parts.build) || before));

/** What follows the hyphen is a revision, after the release: Bitnami. */
export const withRevisionOrdering = ordering(
  ({ release, preRelease }) => release + (identifiersKey(preRelease) || before),
);

function ordering(keyOf: (parts: Parts) => string, rewrite = (version: string) => version): Ordering<string> {
  return {
    parse(version) {
      const parts = parse(complete(rewrite(version.replace(/^v/, ""))));
      return parts && keyOf(parts);
    },
    compare: compareTexts,
  };
}

function complete(version: string): string {
  return shortRelease.test(version) ? `${version}${version.includes(".") ? ".0" : ".0.0"}` : version;
}

function parse(version: string): Parts | undefined {
  const match = grammar.exec(version);
  if (match === null) return undefined;
  const [, major = "", minor = "", patch = "", preRelease, build] = match;
  return {
    release: numberKey(major) + numberKey(minor) + numberKey(patch),
    preRelease: preRelease?.split(".") ?? [],
    build: build?.split(".") ?? [],
  };
}

function preReleaseKey({ release, preRelease }: Parts): string {
  return release + (identifiersKey(preRelease) || after);
}

/** The key of a list, which is after those of its prefixes; "" for an empty list. */
function identifiersKey(identifiers: readonly string[]): string {
  if (identifiers.length === 0) return "";
  return `${identifiers.map((id) => (isDigits(id) ? `1${numberKey(id)}` : `2${wordKey(id)}`)).join("")}0`;
}
