/**
 * The packages in images, by name, and whether the fix of an advisory is in them.
 *
 * A package has its own name and the name of the package that it is built from. If an image has several copies of the
 * package of an advisory, all of them must be fixed. A fix holds for its version and later ones, up to a version that
 * is said to be affected.
 */

import { isSameKind, normalName, type PackageKind } from "../../package-url.ts";
import { comparePackageVersions } from "../../versions/index.ts";

/** A package in an image. */
export interface HeldPackage extends PackageKind {
  readonly name: string;
  readonly version: string;
  /** The package that it is built from, and the version of that one if it differs; "" when unknown. */
  readonly origin: string;
  readonly originVersion: string;
}

/** One copy of a package in an image. */
interface Copy extends PackageKind {
  readonly version: string;
}

/** What an advisory says about one version of a package. */
export interface VersionStatement {
  readonly kind: PackageKind;
  readonly version: string;
  /** Whether the version is affected, or may be. */
  readonly isOpen: boolean;
}

/** Packages by the name by which their type compares them. */
export interface HeldPackages {
  /** The names of packages, as they are written and as they are compared. */
  readonly names: readonly string[];
  /** The sorted names of packages of unknown type, which no advisory can be about. */
  readonly untyped: readonly string[];
  /**
   * Whether an image has packages of that name and kind, all of them at the fixed version or above, and none of them
   * open by what is said of versions in between; undefined if that is not known, because the versions cannot be
   * compared.
   * @param name as a package URL has it.
   */
  areFixed(
    name: string,
    kind: PackageKind,
    fixedVersion: string,
    statements?: readonly VersionStatement[],
  ): boolean | undefined;
}

/** Indexes the packages of images. */
export function holdPackages(images: readonly (readonly HeldPackage[])[]): HeldPackages {
  /** The copies in each image by name; images with the same copies are one entry. */
  const held = new Map<string, Map<string, readonly Copy[]>>();
  const names = new Set<string>();
  const untyped = new Set<string>();
  for (const packages of images) {
    for (const { name, type, origin } of packages) {
      if (type === "") untyped.add(name);
      for (const each of origin === "" ? [name] : [name, origin]) names.add(each).add(normalName(type, each));
    }
    for (const [name, copies] of copiesByName(packages)) {
      const ofImages = held.get(name) ?? new Map<string, readonly Copy[]>();
      held.set(name, ofImages.set([...copies.keys()].sort().join(), [...copies.values()]));
    }
  }
  return {
    names: [...names],
    untyped: [...untyped].sort(),
    areFixed(name, kind, fixedVersion, statements = []) {
      const inImages = [...(held.get(name)?.values() ?? [])].map((copies) => {
        const meant = copies.filter((copy) => isSameKind(kind, copy));
        const areFixed = meant.map((copy) => isFixed(copy, fixedVersion, statements));
        if (meant.length === 0 || areFixed.includes(false)) return false;
        return areFixed.includes(undefined) ? undefined : true;
      });
      return inImages.includes(true) || (inImages.includes(undefined) ? undefined : false);
    },
  };
}

/** Undefined if the versions cannot be compared. */
function isFixed(copy: Copy, fixedVersion: string, statements: readonly VersionStatement[]): boolean | undefined {
  const isReached = isAtLeast(copy.type, copy.version, fixedVersion);
  return isReached === true ? !isOpenAgain(copy, fixedVersion, statements) : isReached;
}

/** Whether the nearest version before that of a copy, or this one itself, is said to be open after the fix. */
function isOpenAgain(copy: Copy, fixedVersion: string, statements: readonly VersionStatement[]): boolean {
  const { type, version } = copy;
  const since = statements.filter(
    (statement) =>
      isSameKind(statement.kind, copy) &&
      isAtLeast(type, statement.version, fixedVersion) === true &&
      isAtLeast(type, version, statement.version) === true,
  );
  return since.some(
    ({ isOpen, version: last }) => isOpen && since.every((each) => isAtLeast(type, last, each.version) === true),
  );
}

function isAtLeast(type: string, version: string, other: string): boolean | undefined {
  const order = comparePackageVersions(type, version, other);
  return order === undefined ? undefined : order >= 0;
}

/** The distinct copies in one image, by the name that is compared. */
function copiesByName(packages: readonly HeldPackage[]): ReadonlyMap<string, ReadonlyMap<string, Copy>> {
  const all = new Map<string, Map<string, Copy>>();
  const add = (name: string, copy: Copy) => {
    const copies = all.get(name) ?? new Map<string, Copy>();
    all.set(name, copies.set(JSON.stringify([copy.type, copy.namespace, copy.distro, copy.version]), copy));
  };
  for (const { name, version, type, namespace, distro, origin, originVersion } of packages) {
    add(normalName(type, name), { type, namespace, distro, version });
    if (origin !== "") add(normalName(type, origin), { type, namespace, distro, version: originVersion || version });
  }
  return all;
}
