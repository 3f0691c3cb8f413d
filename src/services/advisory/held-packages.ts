/**
 * The packages that images hold, by name, and whether what an advisory says of a version holds for them.
 *
 * A package has its own name and that of the package it is built from. Where an image has several copies that an advisory is about, all must be fixed.
 */
import { isSameKind, type PackageKind } from "../../package-url.ts";
import { comparePackageVersions } from "./package-versions.ts";

/** A package that an image holds. */
export interface HeldPackage extends PackageKind {
  readonly name: string;
  readonly version: string;
  /** The package that it is built from, and its version where that differs; "" where unknown. */
  readonly origin: string;
  readonly originVersion: string;
}

/** One version of a package in an image. */
interface Copy extends PackageKind {
  readonly version: string;
}

/** Packages by name. */
export interface HeldPackages {
  readonly names: readonly string[];
  /** The names of packages whose type is unknown, in order: no advisory is about them. */
  readonly untyped: readonly string[];
  /** Whether an image holds packages of that name and kind, all of them at the version or above. */
  areFixed(name: string, kind: PackageKind, version: string): boolean;
}

/** Gathers the packages of images. */
export function holdPackages(images: readonly (readonly HeldPackage[])[]): HeldPackages {
  /** By name, the copies of each image; of images that have the same, once. */
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
    areFixed: (name, kind, version) =>
      [...(held.get(name)?.values() ?? [])].some((copies) => {
        const meant = copies.filter((copy) => isSameKind(kind, copy));
        return meant.length > 0 && meant.every((copy) => comparePackageVersions(copy.type, copy.version, version) >= 0);
      }),
  };
}

/** The copies in one image by name, each once by what it is. */
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
