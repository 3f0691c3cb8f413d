/** Levels of severity, and the scores and words that they stand for. */
import type { CvssVersion } from "./cvss/vector.ts";

/** A level of severity, by the qualitative scale of CVSS. */
export type Level = "NONE" | "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";

/** The levels, the least first. */
export const levels: readonly Level[] = ["NONE", "LOW", "MEDIUM", "HIGH", "CRITICAL"];

/** Words of publishers: of GitHub, Debian's urgency, Ubuntu's priority, Red Hat's and SUSE's severity. */
const words: Readonly<Record<string, Level>> = {
  none: "NONE",
  // Debian: the package is not affected, such as by a file of the source that is not built.
  unimportant: "NONE",
  negligible: "LOW",
  low: "LOW",
  minor: "LOW",
  medium: "MEDIUM",
  moderate: "MEDIUM",
  high: "HIGH",
  important: "HIGH",
  critical: "CRITICAL",
};

/**
 * The level of a score from 0 to 10: by the qualitative scale of CVSS 3 and 4. CVSS 2 has none; for its scores the
 * NVD's scale counts, which ends at HIGH.
 */
export function levelOfScore(score: number, version?: CvssVersion): Level {
  if (score <= 0) return version === "2.0" ? "LOW" : "NONE";
  if (score < 4) return "LOW";
  if (score < 7) return "MEDIUM";
  return score < 9 || version === "2.0" ? "HIGH" : "CRITICAL";
}

/** The level of a severity in words, of any publisher; undefined for words that are none: `unknown`, `untriaged`. */
export function levelOfWord(word: string): Level | undefined {
  const key = word.trim().replace(/\*+$/, "").toLowerCase();
  return Object.hasOwn(words, key) ? words[key] : undefined;
}
