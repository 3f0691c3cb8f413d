/** Which of several ratings of a vulnerability counts. */
import { cvssScore } from "./cvss/score.ts";
import type { CvssVersion } from "./cvss/vector.ts";
import { type Level, levelOfScore, levelOfWord } from "./levels.ts";

/** Who rates: the distribution of the package, the CNA of the CVE, GitHub's advisories, the NVD, a scanner. */
export type RaterKind = "DISTRIBUTION" | "CNA" | "GHSA" | "NVD" | "SCANNER";

/** A rating, as a source gives it. At least one of vector, score and word. */
export interface Rating {
  readonly kind: RaterKind;
  /** The source by name: `nvd`, `redhat`. */
  readonly source: string;
  /** A vector of CVSS. Its score is computed. */
  readonly vector?: string | undefined;
  /** A score without vector, 0 to 10. */
  readonly score?: number | undefined;
  /** A severity in words: `Important`, `not yet assigned`. */
  readonly word?: string | undefined;
}

/** The rating that counts. */
export interface CountingRating {
  readonly rating: Rating;
  readonly level: Level;
  /** Absent if the rating is a word. */
  readonly score?: number;
  /** The version of CVSS of its vector; absent if it has none that is valid. */
  readonly version?: CvssVersion;
}

/** The kinds of sources of a group that chooses none, the most trusted first. Those in one list are equal. */
export const defaultRatingOrder: readonly (readonly RaterKind[])[] = [
  ["DISTRIBUTION"],
  ["CNA", "GHSA"],
  ["NVD"],
  ["SCANNER"],
];

/** Ratings of a source in order: vectors by their versions, then scores without vector, then words. */
const versionsByRank: readonly (CvssVersion | undefined)[] = ["4.0", "3.1", "3.0", "2.0", undefined];

/**
 * The rating that counts: of the first kind of source in the order; of that the one with the latest version of CVSS,
 * then the highest; undefined if none has a level. Ratings of kinds that are not in the order count after those.
 */
export function ratingThatCounts(
  ratings: readonly Rating[],
  order: readonly (readonly RaterKind[])[] = defaultRatingOrder,
): CountingRating | undefined {
  const placeOf = ({ kind }: Rating) => {
    const place = order.findIndex((kinds) => kinds.includes(kind));
    return place < 0 ? order.length : place;
  };
  const read = ratings.flatMap((rating) => readRating(rating) ?? []);
  return read.toSorted(
    (a, b) =>
      placeOf(a.rating) - placeOf(b.rating) ||
      rankOf(a) - rankOf(b) ||
      (b.score ?? 0) - (a.score ?? 0) ||
      (a.rating.source < b.rating.source ? -1 : Number(a.rating.source > b.rating.source)),
  )[0];
}

function rankOf({ version, score }: CountingRating): number {
  return versionsByRank.indexOf(version) + (score === undefined ? 1 : 0);
}

/** Undefined if a rating has no level. */
function readRating(rating: Rating): CountingRating | undefined {
  const { vector, score, word } = rating;
  const computed = vector === undefined ? undefined : cvssScore(vector);
  if (computed !== undefined) return { rating, ...computed, level: levelOfScore(computed.score, computed.version) };
  if (score !== undefined && score >= 0 && score <= 10) return { rating, score, level: levelOfScore(score) };
  const level = word === undefined ? undefined : levelOfWord(word);
  return level && { rating, level };
}
