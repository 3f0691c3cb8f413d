/**
 * What the events of an advisory about one package say of a version of it. The newest event decides. If it is a fix, it
 * says that versions below are affected and others are fixed; all other events say the same of all versions.
 *
 * | newest event | state |
 * |---|---|
 * | fix | AFFECTED below the fixed version, FIXED at or above it |
 * | detection | UNDER_INVESTIGATION |
 * | true positive | AFFECTED |
 * | false positive, or a fix in the version `0` | NOT_AFFECTED |
 * | fix awaited from the authors, or none planned, or no analysis planned | AFFECTED, with that fix state |
 *
 * Of events at one time, a determination counts before a detection, and one that says affected before one that does
 * not; of several fixes at one time, that with the highest version.
 */
import { comparePackageVersions } from "../versions/index.ts";
import type { FindingState, FixState, StatusEvent } from "./facts.ts";

/** What is said of a version. */
export interface VersionStatus {
  readonly state: FindingState;
  readonly fixState: FixState;
  /** The version that has the fix, if the newest event is one; "" if there is none. */
  readonly fixedVersion: string;
  /** Of NOT_AFFECTED, if it is given: `INLINE_MITIGATIONS_EXIST`; else "". */
  readonly justification: string;
  /** Since when the version is open, or closed, without a break; absent if the events have no times. */
  readonly sinceMs?: number;
  /**
   * Whether the version and the fixed version cannot be compared, because the type has no order or one is not a version
   * of it. The state is UNDER_INVESTIGATION then.
   */
  readonly versionUnordered?: true;
}

/** The version that secdb lists vulnerabilities under which never affected the package. */
const neverAffected = "0";

/** Of events at one time, the one with the highest rank is the newest. */
const kindsByRank: readonly StatusEvent["kind"][] = [
  "DETECTION",
  "FALSE_POSITIVE",
  "ANALYSIS_NOT_PLANNED",
  "FIX_NOT_PLANNED",
  "PENDING_UPSTREAM",
  "TRUE_POSITIVE",
  "FIXED",
];

/**
 * What events say of a version; undefined if there are no events.
 * @param events in any order. @param type of the package URL.
 */
export function statusOfEvents(
  events: readonly StatusEvent[],
  type: string,
  version: string,
): VersionStatus | undefined {
  const sorted = events.toSorted((a, b) => timeOf(a) - timeOf(b) || rankOf(a) - rankOf(b) || compareFixes(a, b, type));
  const newest = sorted.at(-1);
  if (newest === undefined) return undefined;
  const status = statusOf(newest, type, version);
  let since = newest;
  for (const event of sorted.toReversed()) {
    if (isOpen(statusOf(event, type, version)) !== isOpen(status)) break;
    since = event;
  }
  return since.timeMs === undefined ? status : { ...status, sinceMs: since.timeMs };
}

/** Whether a finding with this state is open. */
export function isOpen({ state }: { readonly state: FindingState }): boolean {
  return state === "AFFECTED" || state === "UNDER_INVESTIGATION";
}

function statusOf(event: StatusEvent, type: string, version: string): VersionStatus {
  const { kind, fixedVersion = "", justification = "" } = event;
  switch (kind) {
    case "DETECTION":
      return plain("UNDER_INVESTIGATION", "UNKNOWN");
    case "TRUE_POSITIVE":
      return plain("AFFECTED", "NOT_FIXED");
    case "PENDING_UPSTREAM":
      return plain("AFFECTED", "PENDING");
    case "FIX_NOT_PLANNED":
      return plain("AFFECTED", "WONT_FIX");
    case "ANALYSIS_NOT_PLANNED":
      return plain("AFFECTED", "ANALYSIS_NOT_PLANNED");
    case "FALSE_POSITIVE":
      return { ...plain("NOT_AFFECTED", "UNKNOWN"), justification };
    case "FIXED":
      if (fixedVersion === neverAffected) return plain("NOT_AFFECTED", "UNKNOWN");
      return { ...ofFix(comparePackageVersions(type, version, fixedVersion)), fixedVersion };
  }
}

/** @param order of the version and the fixed version. */
function ofFix(order: number | undefined): VersionStatus {
  if (order === undefined) return { ...plain("UNDER_INVESTIGATION", "FIXED"), versionUnordered: true };
  return plain(order < 0 ? "AFFECTED" : "FIXED", "FIXED");
}

function plain(state: FindingState, fixState: FixState): VersionStatus {
  return { state, fixState, fixedVersion: "", justification: "" };
}

/** An event without a time is before all others. */
function timeOf({ timeMs = Number.MIN_SAFE_INTEGER }: StatusEvent): number {
  return timeMs;
}

function rankOf({ kind, fixedVersion }: StatusEvent): number {
  return kindsByRank.indexOf(fixedVersion === neverAffected ? "FALSE_POSITIVE" : kind);
}

function compareFixes({ fixedVersion: a = "" }: StatusEvent, { fixedVersion: b = "" }: StatusEvent, type: string) {
  return comparePackageVersions(type, a, b) ?? (a < b ? -1 : 1);
}
