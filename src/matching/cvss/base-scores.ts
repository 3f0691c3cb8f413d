/** Base scores of CVSS 2.0, 3.0 and 3.1. Temporal and environmental metrics do not count. */

type Metrics = ReadonlyMap<string, string>;
type Weights = Readonly<Record<string, number>>;

function weigh(metrics: Metrics, name: string, weights: Weights): number {
  return weights[metrics.get(name)!]!;
}

/** The part of confidentiality, integrity and availability that is lost. */
function loss(metrics: Metrics, weights: Weights): number {
  return 1 - ["C", "I", "A"].reduce((left, name) => left * (1 - weigh(metrics, name, weights)), 1);
}

/** The base score of a valid vector of CVSS 2.0 (first.org/cvss/v2/guide, 3.2.1), 0 to 10 with one decimal. */
export function scoreOfV2(metrics: Metrics): number {
  const impact = 10.41 * loss(metrics, { C: 0.66, P: 0.275, N: 0 });
  if (impact === 0) return 0;
  const exploitability =
    20 *
    weigh(metrics, "AV", { N: 1, A: 0.646, L: 0.395 }) *
    weigh(metrics, "AC", { L: 0.71, M: 0.61, H: 0.35 }) *
    weigh(metrics, "Au", { N: 0.704, S: 0.56, M: 0.45 });
  return Math.round((0.6 * impact + 0.4 * exploitability - 1.5) * 1.176 * 10) / 10;
}

/** The base score of a valid vector of CVSS 3.0 or 3.1 (first.org/cvss/v3.1/specification-document, 7.1), as above. */
export function scoreOfV3(metrics: Metrics): number {
  const isChanged = metrics.get("S") === "C";
  const base = loss(metrics, { H: 0.56, L: 0.22, N: 0 });
  const impact = isChanged ? 7.52 * (base - 0.029) - 3.25 * (base - 0.02) ** 15 : 6.42 * base;
  if (impact <= 0) return 0;
  const exploitability =
    8.22 *
    weigh(metrics, "AV", { N: 0.85, A: 0.62, L: 0.55, P: 0.2 }) *
    weigh(metrics, "AC", { L: 0.77, H: 0.44 }) *
    weigh(metrics, "PR", isChanged ? { N: 0.85, L: 0.68, H: 0.5 } : { N: 0.85, L: 0.62, H: 0.27 }) *
    weigh(metrics, "UI", { N: 0.85, R: 0.62 });
  return roundUp(Math.min((isChanged ? 1.08 : 1) * (impact + exploitability), 10));
}

/** The smallest number with one decimal that is not less (appendix A). */
function roundUp(value: number): number {
  return Math.ceil(Math.round(value * 100_000) / 10_000) / 10;
}
