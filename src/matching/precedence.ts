/**
 * Which of several assertions about one component and one vulnerability decides. Something general never wins over
 * something specific because it is later.
 *
 * 1. The analysis of a group: the nearest group first. One that has expired does not decide.
 * 2. VEX for the digest of the image, or for the version of the product and the subcomponent.
 * 3. Other VEX, for the product.
 * 4. A feed that is complete for the package. One that lists only fixes, if it says FIXED or NOT_AFFECTED: it closes
 *    what general sources open.
 * 5. An advisory of the ecosystem, such as OSV: a feed that is complete for nothing here.
 * 6. A feed that lists only fixes, if it says that the version is below the fix.
 * 7. The report of a scanner.
 *
 * Within a rank the later one decides, then the feed that is first in the order of feeds.
 */
import type { FindingState, FixState } from "./facts.ts";
import type { Coverage } from "./feed-scopes.ts";
import { isOpen } from "./statuses.ts";

/** What someone says about a vulnerability in a component. */
export interface Assertion {
  readonly kind: "ANALYSIS" | "VEX" | "FEED" | "SCANNER";
  /** The feed, the scanner, or the group of the analysis. */
  readonly source: string;
  /** The id of its record; of several that say the same the first. */
  readonly id?: string | undefined;
  /** Whether it is about the source package; then it follows one about the package itself that says the same. */
  readonly isOfOrigin?: boolean | undefined;
  readonly state: FindingState;
  readonly fixState?: FixState | undefined;
  /** Absent or "" if none is known. */
  readonly fixedVersion?: string | undefined;
  /** When it was said, in milliseconds since 1970; one without a time is before all others. */
  readonly timeMs?: number | undefined;
  /** Of ANALYSIS: how many groups its group is above that of the image. Absent: 0. */
  readonly distance?: number | undefined;
  /** Of ANALYSIS: when it ends, in milliseconds since 1970. Absent: never. */
  readonly expireMs?: number | undefined;
  /** Of VEX: whether it names the digest, or the version of the product and the subcomponent. */
  readonly isSpecific?: boolean | undefined;
  /** Of FEED: what it lists of the package, as of FeedScopes; absent if it is not complete for it. */
  readonly coverage?: Coverage | undefined;
}

/** How assertions are weighed. */
export interface Weighing {
  /** Names of feeds, the most trusted first. Others follow, by name. */
  readonly feedOrder: readonly string[];
  /** The time by which analyses have expired, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** The assertions, and which one decides. */
export interface Resolution<T extends Assertion> {
  /** Undefined if there are none but expired analyses. */
  readonly deciding: T | undefined;
  /** All of them, the deciding one first. Expired analyses are last. */
  readonly assertions: readonly T[];
  /**
   * The fixed version that counts. For an open finding that of the deciding assertion, but that of a distribution goes
   * before that of a general source; else of the next assertion that is open and has one. "" if there is none.
   */
  readonly fixedVersion: string;
}

const expired = 8;

/** Weighs the assertions about one component and one vulnerability. The order that they are given in does not count. */
export function resolve<T extends Assertion>(assertions: readonly T[], weighing: Weighing): Resolution<T> {
  const { feedOrder, nowMs } = weighing;
  const ranked = assertions.map((assertion) => ({ assertion, rank: rankOf(assertion, nowMs) }));
  const placeOf = ({ source }: Assertion) =>
    feedOrder.includes(source) ? feedOrder.indexOf(source) : feedOrder.length;
  if (ranked.length > 1)
    ranked.sort(
      ({ assertion: a, rank }, { assertion: b, rank: other }) =>
        rank - other ||
        (a.distance ?? 0) - (b.distance ?? 0) ||
        timeOf(b) - timeOf(a) ||
        placeOf(a) - placeOf(b) ||
        compareTexts(textOf(a), textOf(b)),
    );
  const first = ranked[0];
  const deciding = first === undefined || first.rank === expired ? undefined : first.assertion;
  const sorted = ranked.map(({ assertion }) => assertion);
  return { deciding, assertions: sorted, fixedVersion: deciding === undefined ? "" : fixedVersionOf(deciding, sorted) };
}

function rankOf(assertion: Assertion, nowMs: number): number {
  switch (assertion.kind) {
    case "ANALYSIS":
      return assertion.expireMs !== undefined && assertion.expireMs <= nowMs ? expired : 1;
    case "VEX":
      return assertion.isSpecific === true ? 2 : 3;
    case "FEED":
      if (assertion.coverage === "FIXES_ONLY") return isOpen(assertion) ? 6 : 4;
      return assertion.coverage === "COMPLETE" ? 4 : 5;
    case "SCANNER":
      return 7;
  }
}

function fixedVersionOf(deciding: Assertion, sorted: readonly Assertion[]): string {
  if (!isOpen(deciding)) return deciding.fixedVersion ?? "";
  const isGeneral = deciding.kind === "SCANNER" || (deciding.kind === "FEED" && deciding.coverage === undefined);
  const open = sorted.filter(isOpen);
  const ofDistribution = open.filter(({ coverage }) => coverage === "FIXES_ONLY");
  const candidates = [...(isGeneral ? [] : [deciding]), ...ofDistribution, ...open];
  return candidates.find(({ fixedVersion }) => fixedVersion)?.fixedVersion ?? "";
}

function timeOf({ timeMs = Number.MIN_SAFE_INTEGER }: Assertion): number {
  return timeMs;
}

/** Distinguishes assertions that nothing else does, so that their order is always the same. */
function textOf(assertion: Assertion): string {
  const { source, state, fixState = "UNKNOWN", fixedVersion = "", id = "", isOfOrigin = false } = assertion;
  return JSON.stringify([source, state, fixState, fixedVersion, id, isOfOrigin]);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
