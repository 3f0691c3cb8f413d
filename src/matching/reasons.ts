/** Why something could not be matched, in words for people. */

/** Why a package or a fact about packages cannot be matched, or a version not be compared. */
export type UnmatchedReason =
  | "is not a package URL"
  | "has no version"
  | "is an image, not a package"
  | "names no distribution"
  | "is of an ecosystem without package URLs"
  | "is of an unknown ecosystem"
  | "is of a product, not of a release"
  | "has a type whose versions have no order"
  | "has a version that is not one of its type"
  | "is compared with a version that is not one of its type"
  | "names no release, and releases of its distribution differ";
