/** Decisions of groups about findings, in the form in which they are applied. */
import type { FindingState } from "../../matching/index.ts";
import type { PackageRange } from "./package-range.ts";

/** What a group has decided. */
export interface Decision {
  /** Distinguishes it from all others, and from what it was before a change. */
  readonly key: string;
  readonly uid: string;
  readonly group: string;
  /** An id of the vulnerability, or an alias. */
  readonly vulnerabilityId: string;
  /** The packages that it is about; undefined for all. */
  readonly packages: PackageRange | undefined;
  /** The uids of repos, and digests; none for all. */
  readonly repos: ReadonlySet<string>;
  readonly digests: ReadonlySet<string>;
  readonly state: FindingState;
  /** As the contract names it, without its prefix; "" for none. */
  readonly justification: string;
  /** When it ends, in milliseconds since 1970; undefined for never. */
  readonly untilMs: number | undefined;
  readonly updateMs: number;
}

/** The deciding one first: that of the nearest group, then the more specific one, then the later one. */
export function compareDecisions(a: Decision, b: Decision): number {
  return (
    b.group.length - a.group.length ||
    specificity(b) - specificity(a) ||
    b.updateMs - a.updateMs ||
    (a.key < b.key ? -1 : 1)
  );
}

function specificity({ digests, repos, packages }: Decision): number {
  if (digests.size > 0) return 5;
  return repos.size > 0 ? 4 : (packages?.specificity ?? 0);
}
