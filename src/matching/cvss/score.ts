/** Scores of vectors of the Common Vulnerability Scoring System. */
import { scoreOfV2, scoreOfV3 } from "./base-scores.ts";
import { scoreOfV4 } from "./v4.ts";
import { type CvssVersion, parseCvss } from "./vector.ts";

/** The score of a vector. */
export interface CvssScore {
  readonly version: CvssVersion;
  /** 0 to 10, with one decimal. */
  readonly score: number;
}

/**
 * The score of a vector, undefined if it is not valid. For CVSS 2 and 3 the base score. CVSS 4 has one score for all
 * metrics that a vector names: with `E:P` it is less than without.
 */
export function cvssScore(vector: string): CvssScore | undefined {
  const parsed = parseCvss(vector);
  if (parsed === undefined) return undefined;
  const { version, metrics } = parsed;
  const scoreOf = version === "4.0" ? scoreOfV4 : version === "2.0" ? scoreOfV2 : scoreOfV3;
  return { version, score: scoreOf(metrics) };
}
