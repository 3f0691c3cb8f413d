/** Which version of a package comes first, by what kind of package it is. */
import { compareApkVersions } from "./apk-version.ts";
import { compareDebVersions } from "./deb-version.ts";
import { compareReleaseVersions } from "./release-version.ts";
import { compareRpmVersions } from "./rpm-version.ts";

const orders: Readonly<Record<string, (a: string, b: string) => number>> = {
  apk: compareApkVersions,
  deb: compareDebVersions,
  rpm: compareRpmVersions,
};

/**
 * Less than 0 when `a` is before `b`, 0 when they are the same, more when it is after.
 * @param type of the package, as package URLs name it: `apk`, `deb`, `rpm`, or any other, whose versions count as release numbers.
 */
export function comparePackageVersions(type: string, a: string, b: string): number {
  return (Object.hasOwn(orders, type) ? orders[type]! : compareReleaseVersions)(a, b);
}
