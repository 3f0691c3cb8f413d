/** Compares two versions of a package by the order of its type. */
import { compareAlpmVersions } from "./alpm.ts";
import { compareApkVersions } from "./apk.ts";
import { compareComposerVersions } from "./composer.ts";
import { compareConanVersions } from "./conan.ts";
import { compareCondaVersions } from "./conda.ts";
import { compareDebVersions } from "./deb.ts";
import { compareGemVersions } from "./gem.ts";
import { compareMavenVersions } from "./maven.ts";
import { compareNuGetVersions } from "./nuget.ts";
import { compareChromeVersions, compareCranVersions, compareHackageVersions } from "./numbers.ts";
import { maxVersionLength } from "./parts.ts";
import { comparePythonVersions } from "./pep440.ts";
import { comparePerlVersions } from "./perl.ts";
import { compareRpmVersions } from "./rpm.ts";
import { compareGoVersions, compareSemver, compareWithBuild, compareWithRevision } from "./semver.ts";

/** Negative if `a` is before `b`, 0 if they are equal, positive if it is after; undefined if one is not a version. */
type Comparison = (a: string, b: string) => number | undefined;

/** The orders by type of package URL. Other types have none. */
const orders: Readonly<Record<string, Comparison>> = {
  alpm: compareAlpmVersions,
  apk: compareApkVersions,
  bitnami: compareWithRevision,
  cargo: compareSemver,
  "chrome-extension": compareChromeVersions,
  composer: compareComposerVersions,
  conan: compareConanVersions,
  conda: compareCondaVersions,
  cpan: comparePerlVersions,
  cran: compareCranVersions,
  deb: compareDebVersions,
  gem: compareGemVersions,
  golang: compareGoVersions,
  hackage: compareHackageVersions,
  hex: compareSemver,
  julia: compareWithBuild,
  maven: compareMavenVersions,
  npm: compareSemver,
  nuget: compareNuGetVersions,
  opam: compareDebVersions,
  pub: compareWithBuild,
  pypi: comparePythonVersions,
  rpm: compareRpmVersions,
  swift: compareSemver,
  "vscode-extension": compareSemver,
};

/**
 * Negative if `a` is before `b`, 0 if they are equal, positive if it is after; undefined if that is not known, because
 * the type has no order or one of them is not a version of it.
 * @param type type of a package URL.
 */
export function comparePackageVersions(type: string, a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (a.length > maxVersionLength || b.length > maxVersionLength) return undefined;
  return Object.hasOwn(orders, type) ? orders[type]!(a, b) : undefined;
}
