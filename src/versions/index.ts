/**
 * versions: the orders of package versions. Pure functions without knowledge of services or the store.
 *
 * {@link comparePackageVersions} compares two versions of a type of package; {@link parsePackageVersion} and
 * {@link compareParsedVersions} do it for versions that are compared often. {@link versionOrder} returns a sort key for
 * a version.
 */
export {
  comparePackageVersions,
  compareParsedVersions,
  hasVersionOrder,
  type ParsedVersion,
  parsePackageVersion,
} from "./compare.ts";
export { type VersionOrder, type VersionScheme, versionOrder } from "./order.ts";
