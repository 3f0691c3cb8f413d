/**
 * The packages in images, by name, and whether the fix of an advisory is in them.
 *
 * A package has its own name and the name of the package that it is built from. If an image has several copies of the
 * package of an advisory, all of them must be fixed. A fix holds for its version and later ones, up to a version that is
 * said to be affected.
 */

import { isSameKind, type PackageKind } from "../../package-url.ts";
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

/** What an advisory says of one version of a package. */
export interface VersionStatement {
  readonly kind: PackageKind;
  readonly version: string;
  /** Whether the version is affected, or may be. */
  readonly isOpen: boolean;
}

/** Packages by name. */
export interface HeldPackages {
  readonly names: readonly string[];
  /** The sorted names of packages of unknown type, which no advisory can be about. */
  readonly untyped: readonly string[];
  /**
   * Whether an image has packages of that name and kind, all of them at the fixed version or above, and none of them
   * open by what is said of versions in between.
   */
  areFixed(name: string, kind: PackageKind, fixedVersion: string, statements?: readonly VersionStatement[]): boolean;
}

/** Indexes the packages of images. */
export function holdPackages(images: readonly (readonly HeldPackage[])[]): HeldPackages {
  /** The copies in each image by name; images with the same copies are one entry. */
  const held = new Map<string, Map<string, readonly Copy[]>>();
  const untyped = new Set<string>();
  for (const packages of images) {
    for (const { name, type } of packages) if (type === "") untyped.add(name);
    for (const [name, copies] of copiesByName(packages)) {
      const ofImages = held.get(name) ?? new Map<string, readonly Copy[]>();
      held.set(name, ofImages.set([...copies.keys()].sort().join(), [...copies.values()]));
    }
  }
  return {
    names: [...held.keys()],
    untyped: [...untyped].sort(),
    areFixed: (name, kind, fixedVersion, statements = []) =>
      [...(held.get(name)?.values() ?? [])].some((copies) => {
        const meant = copies.filter((copy) => isSameKind(kind, copy));
        return (
          meant.length > 0 &&
          meant.every(
            (copy) => isAtLeast(copy.type, copy.version, fixedVersion) && !isOpenAgain(copy, fixedVersion, statements),
          )
        );
      }),
  };
}

/** Whether the nearest version before that of a copy, or this one itself, is said to be open after the fix. */
function isOpenAgain(copy: Copy, fixedVersion: string, statements: readonly VersionStatement[]): boolean {
  const { type, version } = copy;
  const since = statements.filter(
    (statement) =>
      isSameKind(statement.kind, copy) &&
      isAtLeast(type, statement.version, fixedVersion) &&
      isAtLeast(type, version, statement.version),
  );
  return since.some(
    ({ isOpen, version: last }) => isOpen && since.every((each) => isAtLeast(type, last, each.version)),
  );
}

function isAtLeast(type: string, version: string, other: string): boolean {
  return comparePackageVersions(type, version, other) >= 0;
}

/** The distinct copies in one image, by name. */
function copiesByName(packages: readonly HeldPackage[]): ReadonlyMap<string, ReadonlyMap<string, Copy>> {
  const all = new Map<string, Map<string, Copy>>();
  const add = (name: string, copy: Copy) => {
    const copies = all.get(name) ?? new Map<string, Copy>();
    all.set(name, copies.set(JSON.stringify([copy.type, copy.namespace, copy.distro, copy.version]), copy));
  };
  for (const { name, version, type, namespace, distro, origin, originVersion } of packages) {
    add(name, { type, namespace, distro, version });
    if (origin !== "") add(origin, { type, namespace, distro, version: originVersion || version });
  }
  return all;
}
