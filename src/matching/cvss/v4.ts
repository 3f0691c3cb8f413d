/**
 * Scores of CVSS 4.0 (first.org/cvss/v4-0/specification-document, 8): of all metrics that a vector has.
 *
 * A vector has a MacroVector of six equivalence classes (EQ), whose score is that of its severest vectors. The score of
 * another vector is less, by its distance from those to the next lower MacroVectors.
 */
import { scoreOfMacroVector } from "./v4-scores.ts";

type Metrics = ReadonlyMap<string, string>;

/** The values of metrics, the severest first. */
const severities: Readonly<Record<string, string>> = {
  AV: "NALP",
  PR: "NLH",
  UI: "NPA",
  AC: "LH",
  AT: "NP",
  VC: "HLN",
  VI: "HLN",
  VA: "HLN",
  SC: "SHLN",
  SI: "SHLN",
  SA: "SHLN",
  CR: "HML",
  IR: "HML",
  AR: "HML",
};

/** The severest vectors of a class, and how many steps are from them to the next class. */
interface Class {
  readonly maxima: readonly Metrics[];
  readonly depth: number;
}

function classOf(depth: number, ...maxima: readonly string[]): Class {
  const parse = (vector: string) => new Map(vector.split(" ").map((metric) => metric.split(":") as [string, string]));
  return { maxima: maxima.map(parse), depth };
}

const eq1 = [
  classOf(1, "AV:N PR:N UI:N"),
  classOf(4, "AV:A PR:N UI:N", "AV:N PR:L UI:N", "AV:N PR:N UI:P"),
  classOf(5, "AV:P PR:N UI:N", "AV:A PR:L UI:P"),
];
const eq2 = [classOf(1, "AC:L AT:N"), classOf(2, "AC:H AT:N", "AC:L AT:P")];
/** By EQ3, then EQ6. */
const eq3And6 = [
  [
    classOf(7, "VC:H VI:H VA:H CR:H IR:H AR:H"),
    classOf(6, "VC:H VI:H VA:L CR:M IR:M AR:H", "VC:H VI:H VA:H CR:M IR:M AR:M"),
  ],
  [
    classOf(8, "VC:L VI:H VA:H CR:H IR:H AR:H", "VC:H VI:L VA:H CR:H IR:H AR:H"),
    classOf(
      8,
      "VC:L VI:H VA:L CR:H IR:M AR:H",
      "VC:L VI:H VA:H CR:H IR:M AR:M",
      "VC:H VI:L VA:H CR:M IR:H AR:M",
      "VC:H VI:L VA:L CR:M IR:H AR:H",
      "VC:L VI:L VA:H CR:H IR:H AR:M",
    ),
  ],
  [undefined, classOf(10, "VC:L VI:L VA:L CR:H IR:H AR:H")],
];
const eq4 = [classOf(6, "SC:H SI:S SA:S"), classOf(5, "SC:H SI:H SA:H"), classOf(4, "SC:L SI:L SA:L")];

/** The score of the metrics of a valid vector, 0 to 10 with one decimal. */
export function scoreOfV4(metrics: Metrics): number {
  const of = (name: string) => effective(metrics, name);
  if (["VC", "VI", "VA", "SC", "SI", "SA"].every((name) => of(name) === "N")) return 0;
  const [a, b, c, d, e, f] = macroVector(of);
  const score = scoreAt(a, b, c, d, e, f)!;
  const steps = [
    { lower: scoreAt(a + 1, b, c, d, e, f), part: eq1[a]! },
    { lower: scoreAt(a, b + 1, c, d, e, f), part: eq2[b]! },
    { lower: lowerOf3And6(a, b, c, d, e, f), part: eq3And6[c]![f]! },
    { lower: scoreAt(a, b, c, d + 1, e, f), part: eq4[d]! },
    // Within EQ5 there is no distance.
    { lower: scoreAt(a, b, c, d, e + 1, f), part: undefined },
  ].filter(({ lower }) => lower !== undefined);
  const distances = steps.map(({ lower, part }) =>
    part === undefined ? 0 : ((score - lower!) * distance(of, part)) / part.depth,
  );
  const mean = steps.length === 0 ? 0 : distances.reduce((sum, each) => sum + each, 0) / steps.length;
  // What is half a decimal in decimals may be slightly less in binary.
  return Math.min(10, Math.max(0, Math.round((score - mean + 1e-6) * 10) / 10));
}

function scoreAt(...classes: readonly number[]): number | undefined {
  return scoreOfMacroVector.get(classes.join(""));
}

/** The score below EQ3 and EQ6, which belong together: 00 is above 01 and 10, of which the higher counts. */
function lowerOf3And6(a: number, b: number, c: number, d: number, e: number, f: number): number | undefined {
  if (f === 1) return scoreAt(a, b, c + 1, d, e, 1);
  const lower = scoreAt(a, b, c, d, e, 1)!;
  return c === 0 ? Math.max(lower, scoreAt(a, b, 1, d, e, 0)!) : lower;
}

/** The steps from the first of the severest vectors that is nowhere less severe, of which there is always one. */
function distance(of: (name: string) => string, { maxima }: Class): number {
  const stepsFrom = (maximum: Metrics) =>
    [...maximum].map(([name, value]) => severities[name]!.indexOf(of(name)) - severities[name]!.indexOf(value));
  const steps = maxima.map(stepsFrom).find((each) => each.every((step) => step >= 0))!;
  return steps.reduce((sum, step) => sum + step, 0);
}

/** The classes of a vector, EQ1 to EQ6. */
function macroVector(of: (name: string) => string): readonly [number, number, number, number, number, number] {
  const is = (...pairs: readonly string[]) =>
    pairs.map((pair) => pair.split(":")).map(([name, value]) => of(name!) === value);
  const [network, noPrivileges, noInteraction] = is("AV:N", "PR:N", "UI:N");
  const easy = [network, noPrivileges, noInteraction].filter(Boolean).length;
  const first = easy === 3 ? 0 : easy > 0 && of("AV") !== "P" ? 1 : 2;
  const second = is("AC:L", "AT:N").every(Boolean) ? 0 : 1;
  const [c = false, i = false, a = false] = is("VC:H", "VI:H", "VA:H");
  const third = c && i ? 0 : c || i || a ? 1 : 2;
  const fourth = is("SI:S", "SA:S").some(Boolean) ? 0 : is("SC:H", "SI:H", "SA:H").some(Boolean) ? 1 : 2;
  const fifth = "APU".indexOf(of("E"));
  const [required = false, requiredToo = false, requiredAlso = false] = is("CR:H", "IR:H", "AR:H");
  const sixth = (c && required) || (i && requiredToo) || (a && requiredAlso) ? 0 : 1;
  return [first, second, third, fourth, fifth, sixth];
}

/** The value of a metric: the modified one if there is one, and the severest for one that is not defined. */
function effective(metrics: Metrics, name: string): string {
  const given = metrics.get(name) ?? "X";
  if (name === "E") return given === "X" ? "A" : given;
  if (name === "CR" || name === "IR" || name === "AR") return given === "X" ? "H" : given;
  const modified = metrics.get(`M${name}`) ?? "X";
  return modified === "X" ? given : modified;
}
