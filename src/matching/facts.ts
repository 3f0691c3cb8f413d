/** What feeds say about packages, in one form for all formats. Plain data: it can be stored as JSON. */

/** An event of a range of versions, of the OSV schema. Exactly one member is there. */
export type RangeEvent =
  | { readonly introduced: string }
  | { readonly fixed: string }
  | { readonly last_affected: string }
  | { readonly limit: string };

/** A range of versions, of the OSV schema. A range of type GIT is about commits and contains no version. */
export interface AffectedRange {
  readonly kind: "ECOSYSTEM" | "SEMVER" | "GIT";
  readonly events: readonly RangeEvent[];
}

/** Which versions of one package a vulnerability affects: an item of `affected` of the OSV schema. */
export interface AffectedFact {
  /** As {@link packageKey} returns it. */
  readonly key: string;
  /** Canonical release of the distribution that it is about; "" for all. As keyOfOsvPackage returns it. */
  readonly distro: string;
  /** Whether the key is that of a source package; absent if its feed names both. */
  readonly isSource?: boolean | undefined;
  readonly ranges: readonly AffectedRange[];
  /** Affected versions, each by its text. */
  readonly versions: readonly string[];
}

/** An event of an advisory about one package. */
export interface StatusEvent {
  readonly kind:
    | "DETECTION"
    | "TRUE_POSITIVE"
    | "FALSE_POSITIVE"
    | "FIXED"
    | "PENDING_UPSTREAM"
    | "FIX_NOT_PLANNED"
    | "ANALYSIS_NOT_PLANNED";
  /** Milliseconds since 1970; absent for formats without times, whose events are before all others. */
  readonly timeMs?: number | undefined;
  /** Of FIXED: the first version without the vulnerability. */
  readonly fixedVersion?: string | undefined;
  /** Of FALSE_POSITIVE: the kind of reason, as the contract names it: `INLINE_MITIGATIONS_EXIST`. */
  readonly justification?: string | undefined;
  /** Of DETECTION: the name of the part of the package that a scanner has found, as it writes it. */
  readonly part?: string | undefined;
  readonly note?: string | undefined;
}

/** Whether a vulnerability affects a component. ACCEPTED: it does, and a group has accepted that. */
export type FindingState = "AFFECTED" | "UNDER_INVESTIGATION" | "FIXED" | "NOT_AFFECTED" | "ACCEPTED";

/**
 * Whether a fix exists, or will: PENDING if it is awaited from the authors, WONT_FIX and ANALYSIS_NOT_PLANNED if the
 * distribution plans none, UNKNOWN if nothing is said.
 */
export type FixState = "FIXED" | "NOT_FIXED" | "PENDING" | "WONT_FIX" | "ANALYSIS_NOT_PLANNED" | "UNKNOWN";
