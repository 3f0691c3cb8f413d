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
  /** Undefined if it is before all versions. */
  readonly version: ParsedVersion | undefined;
}

/** A version in a range. */
export interface FixedVersion {
  readonly text: string;
  readonly version: ParsedVersion;
}

/** A range whose versions are read. */
export class CompiledRange {
  /** In the order of their versions. */
  readonly #steps: readonly Step[];
  /** Empty if there is none: all versions are before it. */
  readonly #limits: readonly ParsedVersion[];
  /** Why versions cannot be compared with those of the range; undefined if they can. */
  readonly #failure: UnmatchedReason | undefined;
  /** The type by which versions compare. */
  readonly #type: string;

  constructor({ kind, events }: AffectedRange, type: string) {
    this.#type = !hasVersionOrder(type) && kind === "SEMVER" ? semverType : type;
    const steps = kind === "GIT" ? [] : events.flatMap((event) => this.#stepOf(event));
    const limits = events.flatMap((event) => ("limit" in event ? [event.limit] : []));
    this.#limits = limits.includes("*") ? [] : limits.flatMap((limit) => parsePackageVersion(this.#type, limit) ?? []);
    const isRead = steps.every(isReadable) && (limits.includes("*") || this.#limits.length === limits.length);
    this.#failure = isRead
      ? undefined
      : hasVersionOrder(this.#type)
        ? "is compared with a version that is not one of its type"
        : "has a type whose versions have no order";
    this.#steps = isRead ? steps.sort(compareSteps) : steps;
  }

  #stepOf(event: RangeEvent): Step[] {
    if ("introduced" in event) {
      const { introduced: text } = event;
      return [{ kind: "introduced", text, version: text === "0" ? undefined : parsePackageVersion(this.#type, text) }];
    }
    if ("limit" in event) return [];
    const [kind, text] =
      "fixed" in event ? (["fixed", event.fixed] as const) : (["last_affected", event.last_affected] as const);
    return [{ kind, text, version: parsePackageVersion(this.#type, text) }];
  }

  /** Reads a version to compare with the range; undefined if it is not one. @param parsed of the type of the package. */
  read(text: string, type: string, parsed: ParsedVersion | undefined): ParsedVersion | undefined {
    return this.#type === type ? parsed : parsePackageVersion(this.#type, text);
  }

  /** Whether a version is in the range, or the reason why that is not known. */
  contains(version: ParsedVersion | undefined): boolean | UnmatchedReason {
    if (this.#steps.length === 0) return false;
    if (this.#failure !== undefined) return this.#failure;
    if (version === undefined) return this.#containsAll() || this.#withoutVersion();
    let isAffected = false;
    for (const { kind, version: at } of this.#steps) {
      const order = at === undefined ? 1 : compareParsedVersions(version, at);
      if (kind === "last_affected" ? order > 0 : order >= 0) isAffected = kind === "introduced";
    }
    return isAffected && this.#isBeforeLimits(version);
  }

  /** The fixes above a version. */
  fixesAbove(version: ParsedVersion): FixedVersion[] {
    if (this.#failure !== undefined) return [];
    return this.#steps.flatMap(({ kind, text, version: at }) =>
      kind === "fixed" && at !== undefined && compareParsedVersions(at, version) > 0 ? [{ text, version: at }] : [],
    );
  }

  /** Whether every text is in the range, so that nothing is compared. */
  #containsAll(): boolean {
    return (
      this.#limits.length === 0 &&
      this.#steps.every(({ kind, version }) => kind === "introduced" && version === undefined)
    );
  }

  #withoutVersion(): UnmatchedReason {
    return hasVersionOrder(this.#type)
      ? "has a version that is not one of its type"
      : "has a type whose versions have no order";
  }

  #isBeforeLimits(version: ParsedVersion): boolean {
    return this.#limits.length === 0 || this.#limits.some((limit) => compareParsedVersions(version, limit) < 0);
  }
}

function isReadable({ kind, text, version }: Step): boolean {
  return version !== undefined || (kind === "introduced" && text === "0");
}

function compareSteps(a: Step, b: Step): number {
  if (a.version === undefined || b.version === undefined)
    return Number(a.version !== undefined) - Number(b.version !== undefined);
  const order = compareParsedVersions(a.version, b.version);
  return order || Number(a.kind === "last_affected") - Number(b.kind === "last_affected");
}
