/**
 * matching: which facts of feeds are about which packages, what they say of a version, and which of them decides. Pure
 * functions: no store, no feeds, no messages of the contract.
 *
 * - {@link packageKey} and {@link componentOf} say what is the same package. A fact that can be about a component has
 *   one of its {@link componentKeys}. {@link keyOfOsvPackage} is the key of a fact of OSV.
 * - {@link AffectedPackage} evaluates ranges of versions, {@link statusOfEvents} events of advisories, and
 *   {@link parseVers} ranges of queries and documents.
 * - {@link FeedScopes} says which feed may speak about a package, {@link resolve} which assertion decides.
 * - {@link ratingThatCounts} chooses among ratings, {@link groupAliases} finds the ids of one vulnerability.
 *
 * What cannot be matched or compared has an {@link UnmatchedReason}. Nothing is guessed.
 */
export { type Affected, AffectedPackage, evaluateOsv } from "./affected.ts";
export { type AliasGroup, type AliasRecord, groupAliases } from "./alias-groups.ts";
export {
  type Component,
  type ComponentDetails,
  ComponentKey,
  componentKeys,
  componentOf,
  sourceOf,
  unmatchedReason,
} from "./component.ts";
export { type CvssScore, cvssScore } from "./cvss/score.ts";
export { type CvssVersion, cvssVersion, namedCvssVersion } from "./cvss/vector.ts";
export { canonicalDistribution, canonicalRelease } from "./distributions.ts";
export { type FactPackage, keyOfOsvPackage, type OsvPackage } from "./ecosystems.ts";
export type { AffectedFact, AffectedRange, FindingState, FixState, RangeEvent, StatusEvent } from "./facts.ts";
export { type Coverage, type FeedScope, FeedScopes } from "./feed-scopes.ts";
export { type Level, levelOfScore, levelOfWord, levels } from "./levels.ts";
export { type PackageIdentity, packageKey, packageKeyOfUrl, typeOfKey } from "./package-key.ts";
export { type Assertion, type Resolution, resolve, type Weighing } from "./precedence.ts";
export {
  type CountingRating,
  defaultRatingOrder,
  type RaterKind,
  type Rating,
  ratingThatCounts,
} from "./ratings.ts";
export type { UnmatchedReason } from "./reasons.ts";
export type { FactKind, PackageFact, RatingFact, VulnerabilityFacts } from "./records.ts";
export { isOpen, statusOfEvents, type VersionStatus } from "./statuses.ts";
export { parseVers, type VersProblem, VersRange } from "./vers.ts";
