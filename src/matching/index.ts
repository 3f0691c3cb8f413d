/**
 * matching: which facts of feeds are about which packages, what they say of a version, and which of them decides. Pure
 * functions: no store, no feeds, no messages of the contract.
 *
 * - {@link packageKey} and {@link componentOf} say what is the same package. A fact that can be about a component has one
 *   of its {@link componentKeys}.
 * - {@link levelOfScore} and {@link levelOfWord} make severities comparable.
 */
export {
  type Component,
  type ComponentDetails,
  type ComponentKey,
  componentKeys,
  componentOf,
  type UnmatchedReason,
  unmatchedReason,
} from "./component.ts";
export { canonicalDistribution, canonicalRelease, isOfRelease } from "./distributions.ts";
export type { AffectedFact, AffectedRange, FindingState, FixState, RangeEvent, StatusEvent } from "./facts.ts";
export { type Level, levelOfScore, levelOfWord, levels } from "./levels.ts";
export { isDistributionType, type PackageIdentity, packageKey, packageKeyOfUrl } from "./package-key.ts";
