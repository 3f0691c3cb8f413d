/** The packages that a decision is about: one package, at all versions or some. */
import { componentOf, packageKey, packageKeyOfUrl, parseVers, type VersRange } from "../../matching/index.ts";
import { comparePackageVersions } from "../../versions/index.ts";

/** A package. */
interface PackageAtVersion {
  readonly type: string;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
}

/** A range of versions of one package. */
export class PackageRange {
  readonly #key: string;
  /** "" for all that are in the range. */
  readonly #version: string;
  readonly #range: VersRange | undefined;

  private constructor(key: string, version: string, range: VersRange | undefined) {
    this.#key = key;
    this.#version = version;
    this.#range = range;
  }

  /**
   * Reads what an analysis says; undefined for all packages. A problem is a text about a field.
   * @param packageUrl with a version, or without one. @param versionRange in the notation of vers.
   */
  static read(packageUrl: string, versionRange: string): PackageRange | { field: string; problem: string } | undefined {
    if (packageUrl === "")
      return versionRange === "" ? undefined : { field: "version_range", problem: "needs package_url beside it" };
    const key = packageKeyOfUrl(packageUrl);
    if (key === undefined) return { field: "package_url", problem: "is not a package URL" };
    const component = componentOf(packageUrl);
    const version = typeof component === "string" ? "" : component.version;
    if (versionRange === "") return new PackageRange(key, version, undefined);
    if (version !== "") return { field: "version_range", problem: "goes only with a package URL without version" };
    const range = parseVers(versionRange);
    if (typeof range === "string") return { field: "version_range", problem: range };
    return new PackageRange(key, "", range);
  }

  /** A package with a version is more specific than one with a range, and this than one with neither. */
  get specificity(): number {
    if (this.#version !== "") return 3;
    return this.#range === undefined ? 1 : 2;
  }

  contains(component: PackageAtVersion): boolean {
    const { type, version } = component;
    if (packageKey(component) !== this.#key) return false;
    if (this.#version !== "") return comparePackageVersions(type, this.#version, version) === 0;
    return this.#range === undefined || this.#range.contains(version) === true;
  }
}
