/**
 * Ranges of versions, by the algorithm of the OSV schema (https://ossf.github.io/osv-schema/#evaluation), read once for
 * many versions. Versions compare in the order of the type of their package; in a range of kind SEMVER of a type
 * without order, by Semantic Versioning.
 *
 * `introduced: "0"` is before all versions, and `limit: "*"` after them. Events of equal versions keep their order, but
 * that a last affected version ends after the range that begins with it.
 */
import { compareParsedVersions, hasVersionOrder, type ParsedVersion, parsePackageVersion } from "../versions/index.ts";
import type { AffectedRange, RangeEvent } from "./facts.ts";
import type { UnmatchedReason } from "./reasons.ts";

/** The type whose versions are those of Semantic Versioning. */
const semverType = "npm";

/** An event other than a limit. */
interface Step {
  readonly kind: "introduced" | "fixed" | "last_affected";
  readonly text: string;
  /** Undefined if it is before all versions, or not a version. */
  readonly version: ParsedVersion | undefined;
}

/** A version that has a fix. */
export interface FixedVersion {
  readonly text: string;
  readonly version: ParsedVersion;
}

/** A range whose versions are read. */
export class CompiledRange {
  /** In the order of their versions. */
  readonly #steps: readonly Step[];
  /** Undefined if there is none: all versions are before it. */
  readonly #limits: readonly ParsedVersion[] | undefined;
  /** Why versions cannot be compared with those of the range; undefined if they can. */
  readonly #failure: UnmatchedReason | undefined;
  /** The type by which versions compare. */
  readonly #type: string;
  /** Those that are not affected, in their order, found when they are first needed. */
  #fixes: readonly FixedVersion[] | undefined;

  constructor({ kind, events }: AffectedRange, type: string) {
    this.#type = !hasVersionOrder(type) && kind === "SEMVER" ? semverType : type;
    const steps: Step[] = [];
    const limits: string[] = [];
    for (const event of kind === "GIT" ? [] : events) {
      if ("limit" in event) limits.push(event.limit);
      else steps.push(stepOf(event, this.#type));
    }
    const isLimited = limits.length > 0 && !limits.includes("*");
    this.#limits = isLimited ? limits.flatMap((limit) => parsePackageVersion(this.#type, limit) ?? []) : undefined;
    const isRead = steps.every(isReadable) && (!isLimited || limits.length === this.#limits!.length);
    this.#failure = isRead ? undefined : this.#reason("is compared with a version that is not one of its type");
    this.#steps = isRead && !isInOrder(steps) ? steps.sort(compareSteps) : steps;
  }

  /** Reads a version to compare with the range; undefined if it is not one. @param parsed of the package's type. */
  read(text: string, type: string, parsed: ParsedVersion | undefined): ParsedVersion | undefined {
    return this.#type === type ? parsed : parsePackageVersion(this.#type, text);
  }

  /** Whether a version is in the range, or the reason why that is not known. */
  contains(version: ParsedVersion | undefined): boolean | UnmatchedReason {
    if (this.#steps.length === 0) return false;
    if (this.#failure !== undefined) return this.#failure;
    if (version === undefined) return this.#containsAll() || this.#reason("has a version that is not one of its type");
    let isAffected = false;
    for (const { kind, version: at } of this.#steps) {
      const order = at === undefined ? 1 : compareParsedVersions(version, at);
      if (kind === "last_affected" ? order > 0 : order >= 0) isAffected = kind === "introduced";
    }
    return isAffected && this.#isBeforeLimits(version);
  }

  /** The lowest fix above a version. @param facts that hold with the range: what they affect is no fix. */
  lowestFix(version: ParsedVersion, facts: { isAffected(fix: FixedVersion): boolean }): FixedVersion | undefined {
    this.#fixes ??=
      this.#failure === undefined ? this.#steps.filter(isFix).filter((fix) => !facts.isAffected(fix)) : [];
    return this.#fixes.find((fix) => compareParsedVersions(fix.version, version) > 0);
  }

  /** Whether every text is in the range, so that nothing is compared. */
  #containsAll(): boolean {
    return this.#limits === undefined && this.#steps.every(({ kind, version }) => kind === "introduced" && !version);
  }

  /** @param reason if the type has an order. */
  #reason(reason: UnmatchedReason): UnmatchedReason {
    return hasVersionOrder(this.#type) ? reason : "has a type whose versions have no order";
  }

  #isBeforeLimits(version: ParsedVersion): boolean {
    return this.#limits?.some((limit) => compareParsedVersions(version, limit) < 0) ?? true;
  }
}

function stepOf(event: Exclude<RangeEvent, { readonly limit: string }>, type: string): Step {
  if ("introduced" in event) {
    const text = event.introduced;
    return { kind: "introduced", text, version: text === "0" ? undefined : parsePackageVersion(type, text) };
  }
  if ("fixed" in event) return { kind: "fixed", text: event.fixed, version: parsePackageVersion(type, event.fixed) };
  const text = event.last_affected;
  return { kind: "last_affected", text, version: parsePackageVersion(type, text) };
}

function isFix(step: Step): step is Step & FixedVersion {
  return step.kind === "fixed";
}

function isReadable({ kind, text, version }: Step): boolean {
  return version !== undefined || (kind === "introduced" && text === "0");
}

/** Most ranges are given in order, and most are of two steps: sorting would cost more than reading them. */
function isInOrder(steps: readonly Step[]): boolean {
  return steps.every((step, i) => i === 0 || compareSteps(steps[i - 1]!, step) <= 0);
}

function compareSteps(a: Step, b: Step): number {
  if (a.version === undefined || b.version === undefined)
    return Number(a.version !== undefined) - Number(b.version !== undefined);
  const order = compareParsedVersions(a.version, b.version);
  return order || Number(a.kind === "last_affected") - Number(b.kind === "last_affected");
}
