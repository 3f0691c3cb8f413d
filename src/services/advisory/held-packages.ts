/**
 * The packages in images, by name, and whether the fix of an advisory is in them.
 *
 * A package has its own name and the name of the package that it is built from. If an image has several copies of the
 * package of an advisory, all of them must be fixed.
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

/** Packages by name. */
export interface HeldPackages {
  readonly names: readonly string[];
  /** The sorted names of packages of unknown type, which no advisory can be about. */
  readonly untyped: readonly string[];
  /**
   * Whether an image has packages of that name and kind, all of them at the version or above; undefined if that is not
   * known, because the versions cannot be compared.
   */
  areFixed(name: string, kind: PackageKind, version: string): boolean | undefined;
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
    areFixed(name, kind, version) {
      const inImages = [...(held.get(name)?.values() ?? [])].map((copies) =>
        areAtLeast(
          copies.filter((copy) => isSameKind(kind, copy)),
          version,
        ),
      );
      return inImages.includes(true) || (inImages.includes(undefined) ? undefined : false);
    },
  };
}

/** Whether there are copies, all of them at the version or above; undefined if that is not known. */
function areAtLeast(copies: readonly Copy[], version: string): boolean | undefined {
  const orders = copies.map((copy) => comparePackageVersions(copy.type, copy.version, version));
  if (orders.length === 0 || orders.some((order) => order !== undefined && order < 0)) return false;
  return orders.includes(undefined) ? undefined : true;
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
