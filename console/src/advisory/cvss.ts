/** Scores of CVSS, computed from vectors: base metrics of versions 2.0, 3.0 and 3.1. */

/** How severe something is, in words. */
export type Rating = "Critical" | "High" | "Medium" | "Low" | "Negligible" | "None" | "Unknown";

/** What a vector says. */
export interface Score {
  /** 0 to 10, with one decimal. */
  readonly score: number;
  readonly rating: Rating;
}

/** The base score of a vector; undefined for one that is invalid or of another version. */
export function scoreOf(vector: string): Score | undefined {
  const metrics = new Map(vector.split("/").map((metric) => metric.split(":") as [string, string]));
  const version = metrics.get("CVSS");
  if (version !== undefined && !version.startsWith("3.")) return undefined;
  const score = version === undefined ? score2(metrics) : score3(metrics);
  return Number.isNaN(score) ? undefined : { score, rating: ratingOf(score, version !== undefined) };
}

type Metrics = ReadonlyMap<string, string>;
type Weights = Readonly<Record<string, number>>;

/** The weight of the value of a metric; NaN for a value that does not exist. */
function weigh(metrics: Metrics, metric: string, weights: Weights): number {
  return weights[metrics.get(metric) ?? ""] ?? Number.NaN;
}

/** The product of what is left of confidentiality, integrity and availability, as the part that is lost. */
function loss(metrics: Metrics, weights: Weights): number {
  return 1 - ["C", "I", "A"].reduce((left, metric) => left * (1 - weigh(metrics, metric, weights)), 1);
}

/** CVSS 3.1, 7.1. */
function score3(metrics: Metrics): number {
  const isChanged = weigh(metrics, "S", { U: 0, C: 1 });
  const base = loss(metrics, { H: 0.56, L: 0.22, N: 0 });
  const impact = isChanged === 1 ? 7.52 * (base - 0.029) - 3.25 * (base - 0.02) ** 15 : 6.42 * base;
  const exploitability =
    8.22 *
    weigh(metrics, "AV", { N: 0.85, A: 0.62, L: 0.55, P: 0.2 }) *
    weigh(metrics, "AC", { L: 0.77, H: 0.44 }) *
    weigh(metrics, "PR", isChanged === 1 ? { N: 0.85, L: 0.68, H: 0.5 } : { N: 0.85, L: 0.62, H: 0.27 }) *
    weigh(metrics, "UI", { N: 0.85, R: 0.62 });
  const sum = (isChanged === 1 ? 1.08 : 1) * (impact + exploitability) + 0 * isChanged;
  if (Number.isNaN(sum)) return sum;
  return impact <= 0 ? 0 : roundUp(Math.min(sum, 10));
}

/** The smallest number with one decimal that is not less; CVSS 3.1, appendix A. */
function roundUp(value: number): number {
  return Math.ceil(Math.round(value * 100_000) / 10_000) / 10;
}

/** CVSS 2.0, 3.2.1. */
function score2(metrics: Metrics): number {
  const impact = 10.41 * loss(metrics, { C: 0.66, P: 0.275, N: 0 });
  const exploitability =
    20 *
    weigh(metrics, "AV", { N: 1, A: 0.646, L: 0.395 }) *
    weigh(metrics, "AC", { L: 0.71, M: 0.61, H: 0.35 }) *
    weigh(metrics, "Au", { N: 0.704, S: 0.56, M: 0.45 });
  const sum = (0.6 * impact + 0.4 * exploitability - 1.5) * (impact === 0 ? 0 : 1.176);
  return Math.round(sum * 10) / 10;
}

function ratingOf(score: number, isVersion3: boolean): Rating {
  if (score === 0 && isVersion3) return "None";
  if (score < 4) return "Low";
  if (score < 7) return "Medium";
  return score < 9 || !isVersion3 ? "High" : "Critical";
}
