/**
 * Version range specifiers (https://www.packageurl.org/docs/vers/introduction): `vers:maven/>=1.0|<2.17.1`.
 *
 * A specifier must be canonical: lower case, no white space, constraints sorted by version and each version once, lower
 * and upper bounds in turn. Others are not read, as the specification demands. The type is one of package URLs, or
 * `semver`. Types without order have only `=`, `!=` and `*`, which compare texts; `all` and `none` have only `*`.
 */
import { compareParsedVersions, hasVersionOrder, type ParsedVersion, parsePackageVersion } from "../versions/index.ts";

/** Why a text is not a version range specifier that is read, in words for people. */
export type VersProblem =
  | "does not begin with vers: and a type in lower case"
  | "has white space"
  | "has no constraints"
  | "has an empty constraint"
  | "has an asterisk beside other constraints"
  | "has percent-encoding that is not valid or not canonical"
  | "has a version that is not one of its type"
  | "has a type whose versions have no order"
  | "has constraints that are not sorted by version"
  | "has one version twice"
  | "has bounds that do not alternate";

type Comparator = "=" | "!=" | "<" | "<=" | ">" | ">=";

interface Constraint {
  readonly comparator: Comparator;
  readonly text: string;
  /** Undefined if the type has no order. */
  readonly version: ParsedVersion | undefined;
}

/** Special types, by the type whose order they have. */
const types: ReadonlyMap<string, string> = new Map([
  ["semver", "npm"],
  ["dart", "pub"],
]);

/** A range of versions. */
export class VersRange {
  /** The type of the package URL whose versions are in the range; "" for any. */
  readonly type: string;
  /** Whether all versions are in the range; undefined if the constraints say it. */
  readonly #all: boolean | undefined;
  /** Sorted by version. */
  readonly #constraints: readonly Constraint[];

  constructor(type: string, all: boolean | undefined, constraints: readonly Constraint[] = []) {
    this.type = type;
    this.#all = all;
    this.#constraints = constraints;
  }

  /** Whether a version is in the range; undefined if it is not one of the type. */
  contains(text: string): boolean | undefined {
    if (this.#all !== undefined) return this.#all;
    const isOrdered = hasVersionOrder(this.type);
    const version = isOrdered ? parsePackageVersion(this.type, text) : undefined;
    if (isOrdered && version === undefined) return undefined;
    const equal = this.#constraints.find((each) =>
      version === undefined ? each.text === text : compareParsedVersions(version, each.version!) === 0,
    );
    if (equal !== undefined) return ["=", "<=", ">="].includes(equal.comparator);
    const bounds = this.#constraints.filter(isBound);
    if (bounds.length === 0) return this.#constraints.every(({ comparator }) => comparator === "!=");
    const next = bounds.find((each) => compareParsedVersions(version!, each.version!) < 0);
    return next === undefined ? bounds.at(-1)!.comparator.startsWith(">") : next.comparator.startsWith("<");
  }
}

/** Reads a specifier. Returns why it is not read. */
export function parseVers(text: string): VersRange | VersProblem {
  if (/\s/.test(text)) return "has white space";
  const [, given, list = ""] = /^vers:([a-z][a-z0-9.-]*)\/(.*)$/.exec(text) ?? [];
  if (given === undefined) return "does not begin with vers: and a type in lower case";
  if (list === "") return "has no constraints";
  const isAny = given === "all" || given === "none";
  const type = isAny ? "" : (types.get(given) ?? given);
  if (list === "*") return new VersRange(type, given !== "none");
  if (isAny) return "has an asterisk beside other constraints";
  const constraints: Constraint[] = [];
  for (const each of list.split("|")) {
    const constraint = parseConstraint(each, type);
    if (typeof constraint === "string") return constraint;
    constraints.push(constraint);
  }
  return problemOf(constraints, type) ?? new VersRange(type, undefined, constraints);
}

function parseConstraint(text: string, type: string): Constraint | VersProblem {
  const [, comparator = "", encoded = ""] = /^(>=|<=|!=|<|>|)(.*)$/.exec(text)!;
  if (encoded === "") return "has an empty constraint";
  if (encoded === "*") return "has an asterisk beside other constraints";
  const isCanonical = !/[<>=!*]/.test(encoded) && !/%(?![0-9A-F]{2})/.test(encoded);
  const version = isCanonical ? decode(encoded) : undefined;
  if (version === undefined) return "has percent-encoding that is not valid or not canonical";
  const isOrdered = hasVersionOrder(type);
  const parsed = isOrdered ? parsePackageVersion(type, version) : undefined;
  if (isOrdered && parsed === undefined) return "has a version that is not one of its type";
  const constraint = { comparator: (comparator || "=") as Comparator, text: version, version: parsed };
  return isBound(constraint) && !isOrdered ? "has a type whose versions have no order" : constraint;
}

/** The rules about constraints that follow each other. */
function problemOf(constraints: readonly Constraint[], type: string): VersProblem | undefined {
  for (const [i, { text, version }] of constraints.slice(1).entries()) {
    const before = constraints[i]!;
    const order = hasVersionOrder(type)
      ? compareParsedVersions(before.version!, version!)
      : compareTexts(before.text, text);
    if (order === 0) return "has one version twice";
    if (order > 0) return "has constraints that are not sorted by version";
  }
  const including = constraints.filter(({ comparator }) => comparator !== "!=").map(({ comparator }) => comparator[0]);
  for (const [i, comparator] of including.slice(1).entries()) {
    // Behind an open lower bound comes its upper bound, and an upper bound behind nothing else.
    if ((including[i] === ">") !== (comparator === "<")) return "has bounds that do not alternate";
  }
  return undefined;
}

function isBound({ comparator }: Constraint): boolean {
  return comparator.startsWith("<") || comparator.startsWith(">");
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
