/** Compares versions of a package by the order of its type. */
import { alpmOrdering } from "./alpm.ts";
import { apkOrdering } from "./apk.ts";
import { composerOrdering } from "./composer.ts";
import { conanOrdering } from "./conan.ts";
import { condaOrdering } from "./conda.ts";
import { debOrdering } from "./deb.ts";
import { gemOrdering } from "./gem.ts";
import { mavenOrdering } from "./maven.ts";
import { nuGetOrdering } from "./nuget.ts";
import { chromeOrdering, cranOrdering, hackageOrdering } from "./numbers.ts";
import type { Ordering } from "./ordering.ts";
import { maxVersionLength } from "./parts.ts";
import { pep440Ordering } from "./pep440.ts";
import { perlOrdering } from "./perl.ts";
import { rpmOrdering } from "./rpm.ts";
import { goOrdering, semverOrdering, withBuildOrdering, withRevisionOrdering } from "./semver.ts";

/** The orders by type of package URL. Other types have none. */
const orderings: Readonly<Record<string, Ordering<unknown>>> = {
  alpm: alpmOrdering,
  apk: apkOrdering,
  bitnami: withRevisionOrdering,
  cargo: semverOrdering,
  "chrome-extension": chromeOrdering,
  composer: composerOrdering,
  conan: conanOrdering,
  conda: condaOrdering,
  cpan: perlOrdering,
  cran: cranOrdering,
  deb: debOrdering,
  gem: gemOrdering,
  golang: goOrdering,
  hackage: hackageOrdering,
  hex: semverOrdering,
  julia: withBuildOrdering,
  maven: mavenOrdering,
  npm: semverOrdering,
  nuget: nuGetOrdering,
  opam: debOrdering,
  pub: withBuildOrdering,
  pypi: pep440Ordering,
  rpm: rpmOrdering,
  swift: semverOrdering,
  "vscode-extension": semverOrdering,
};

/** A version that has been read once, for many comparisons. Only versions of one type compare. */
export interface ParsedVersion {
  readonly type: string;
  readonly parsed: unknown;
  readonly ordering: Ordering<unknown>;
}

/** Whether versions of a type of package URL have an order. */
export function hasVersionOrder(type: string): boolean {
  return Object.hasOwn(orderings, type);
}

/** Reads a version of a type of package URL; undefined if the type has no order, or the text is not a version of it. */
export function parsePackageVersion(type: string, version: string): ParsedVersion | undefined {
  if (!hasVersionOrder(type) || version.length > maxVersionLength) return undefined;
  const ordering = orderings[type]!;
  const parsed = ordering.parse(version);
  return parsed === undefined ? undefined : { type, parsed, ordering };
}

/**
 * Negative if `a` is before `b`, 0 if they are equal, positive if it is after. @param b of the same type as `a`.
 */
export function compareParsedVersions(a: ParsedVersion, b: ParsedVersion): number {
  return a.ordering.compare(a.parsed, b.parsed);
}

/**
 * Negative if `a` is before `b`, 0 if they are equal, positive if it is after; undefined if that is not known, because
 * the type has no order or one of them is not a version of it.
 * @param type type of a package URL.
 */
export function comparePackageVersions(type: string, a: string, b: string): number | undefined {
  if (a === b) return 0;
  const [x, y] = [parsePackageVersion(type, a), parsePackageVersion(type, b)];
  return x && y && compareParsedVersions(x, y);
}
