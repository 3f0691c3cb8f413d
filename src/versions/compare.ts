/** Compares two versions of a package by the type of the package. */
import { compareApkVersions } from "./apk.ts";
import { compareDebVersions } from "./deb.ts";
import { compareReleaseVersions } from "./release.ts";
import { compareRpmVersions } from "./rpm.ts";

const orders: Readonly<Record<string, (a: string, b: string) => number>> = {
  apk: compareApkVersions,
  deb: compareDebVersions,
  rpm: compareRpmVersions,
};

/**
 * Negative if `a` is before `b`, 0 if they are equal, positive if it is after.
 * @param type type of a package URL: `apk`, `deb`, `rpm`; all others share one order (`release.ts`).
 */
export function comparePackageVersions(type: string, a: string, b: string): number {
  return (Object.hasOwn(orders, type) ? orders[type]! : compareReleaseVersions)(a, b);
}
