/** Levels of severity, and the scores and words that they stand for. */

/** A level of severity, by the qualitative scale of CVSS. */
export type Level = "NONE" | "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";

/** The levels, the least first. */
export const levels: readonly Level[] = ["NONE", "LOW", "MEDIUM", "HIGH", "CRITICAL"];

/** Words of publishers: of GitHub, Debian's urgency, Ubuntu's priority, Red Hat's and SUSE's severity. */
const words: Readonly<Record<string, Level>> = {
  none: "NONE",
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

/** The level of a score from 0 to 10, by the qualitative scale of CVSS 3 and 4, which is used for CVSS 2 too. */
export function levelOfScore(score: number): Level {
  if (score < 0.05) return "NONE";
  if (score < 4) return "LOW";
  if (score < 7) return "MEDIUM";
  return score < 9 ? "HIGH" : "CRITICAL";
}

/** The level of a severity that is a word, of any publisher; undefined for words that are none: `unknown`, `untriaged`. */
export function levelOfWord(word: string): Level | undefined {
  const key = word.trim().replace(/\*+$/, "").toLowerCase();
  return Object.hasOwn(words, key) ? words[key] : undefined;
}
