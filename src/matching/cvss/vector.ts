/** Vectors of the Common Vulnerability Scoring System (first.org/cvss): versions 2.0, 3.0, 3.1 and 4.0. */

/** The values of metrics, by name. */
type Metrics = ReadonlyMap<string, readonly string[]>;

/** The metrics that a vector must have, and those that it may have. */
interface CvssMetrics {
  readonly required: Metrics;
  readonly optional: Metrics;
}

/** Reads metrics of a text like `AV:L,A,N AC:H,M,L`. */
function metrics(text: string): Metrics {
  const pairs = text
    .trim()
    .split(/\s+/)
    .map((metric) => metric.split(":"));
  return new Map(pairs.map(([name = "", values = ""]) => [name, values.split(",")]));
}

const v2: CvssMetrics = {
  required: metrics("AV:L,A,N AC:H,M,L Au:M,S,N C:N,P,C I:N,P,C A:N,P,C"),
  optional: metrics(`
    E:U,POC,F,H,ND RL:OF,TF,W,U,ND RC:UC,UR,C,ND CDP:N,L,LM,MH,H,ND TD:N,L,M,H,ND CR:L,M,H,ND IR:L,M,H,ND AR:L,M,H,ND`),
};

const v3: CvssMetrics = {
  required: metrics("AV:N,A,L,P AC:L,H PR:N,L,H UI:N,R S:U,C C:H,L,N I:H,L,N A:H,L,N"),
  optional: metrics(`
    E:X,U,P,F,H RL:X,O,T,W,U RC:X,U,R,C CR:X,L,M,H IR:X,L,M,H AR:X,L,M,H MAV:X,N,A,L,P MAC:X,L,H MPR:X,N,L,H MUI:X,N,R
    MS:X,U,C MC:X,N,L,H MI:X,N,L,H MA:X,N,L,H`),
};

const v4: CvssMetrics = {
  required: metrics("AV:N,A,L,P AC:L,H AT:N,P PR:N,L,H UI:N,P,A VC:H,L,N VI:H,L,N VA:H,L,N SC:H,L,N SI:H,L,N SA:H,L,N"),
  optional: metrics(`
    E:X,A,P,U CR:X,H,M,L IR:X,H,M,L AR:X,H,M,L MAV:X,N,A,L,P MAC:X,L,H MAT:X,N,P MPR:X,N,L,H MUI:X,N,P,A MVC:X,H,L,N
    MVI:X,H,L,N MVA:X,H,L,N MSC:X,H,L,N MSI:X,S,H,L,N MSA:X,S,H,L,N S:X,N,P AU:X,N,Y R:X,A,U,I V:X,D,C RE:X,L,M,H
    U:X,Clear,Green,Amber,Red`),
};

/** The versions of CVSS by the prefix of their vectors. */
const versions: Readonly<Record<string, CvssMetrics>> = { "2.0": v2, "3.0": v3, "3.1": v3, "4.0": v4 };

/** A version of CVSS. */
export type CvssVersion = "2.0" | "3.0" | "3.1" | "4.0";

/** The version that a vector names, which may be invalid otherwise; undefined if it names none. */
export function namedCvssVersion(vector: string): CvssVersion | undefined {
  const [, version = ""] = /^CVSS:([0-9.]+)\//.exec(vector) ?? [];
  return Object.hasOwn(versions, version) ? (version as CvssVersion) : undefined;
}

/** A vector that has been read. */
export interface CvssVector {
  readonly version: CvssVersion;
  /** The values of the metrics that it names: all that it must, and some that it may. */
  readonly metrics: ReadonlyMap<string, string>;
}

/** Reads a vector; undefined if it is not valid: an unknown, repeated or missing metric, or an unknown value. */
export function parseCvss(vector: string): CvssVector | undefined {
  const version = vector.startsWith("CVSS:") ? namedCvssVersion(vector) : "2.0";
  if (version === undefined) return undefined;
  const { required, optional } = versions[version]!;
  const pairs = vector
    .replace(/^CVSS:[^/]*\//, "")
    .split("/")
    .map((metric) => metric.split(":"));
  const given = new Map<string, string>();
  for (const [name = "", value = "", ...more] of pairs) {
    const isValid = (required.get(name) ?? optional.get(name))?.includes(value) && more.length === 0;
    if (!isValid || given.has(name)) return undefined;
    given.set(name, value);
  }
  return [...required.keys()].every((name) => given.has(name)) ? { version, metrics: given } : undefined;
}

/** The version of a vector; undefined if it is not valid. */
export function cvssVersion(vector: string): CvssVersion | undefined {
  return parseCvss(vector)?.version;
}
