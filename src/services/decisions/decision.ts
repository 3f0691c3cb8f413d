/** Decisions of groups about findings, in the form in which they are applied. */
import type { FindingState, FixState } from "../../matching/index.ts";
import type { PackageRange } from "./package-range.ts";

/** What is said of a component. */
export interface Said {
  readonly state: FindingState;
  /** As the contract or an advisory names it, without its prefix; "" for none. */
  readonly justification: string;
  /** UNKNOWN if nothing is said of it. */
  readonly fixState: FixState;
  /** "" if none is named. */
  readonly fixedVersion: string;
}

/** What a group has decided, or what a VEX document states that it has uploaded. */
export interface Decision {
  readonly kind: "analysis" | "vex" | "vex-exact";
  /** Distinguishes it from all others, and from what it was before a change. */
  readonly key: string;
  /** The uid of the analysis or of the document. */
  readonly uid: string;
  readonly group: string;
  /** Ids of the vulnerability, or aliases. */
  readonly ids: readonly string[];
  /** The packages that it is about; undefined for all. */
  readonly packages: PackageRange | undefined;
  /** The packages that own the files of these; undefined where that does not count. */
  readonly owners?: PackageRange | undefined;
  /** The uids of repos, and digests; none for all. */
  readonly repos: ReadonlySet<string>;
  readonly digests: ReadonlySet<string>;
  /** When it ends, in milliseconds since 1970; undefined for never. */
  readonly untilMs: number | undefined;
  /** When it was changed last, or stated. */
  readonly timeMs: number;
  /** What it says of a version of a package; undefined for nothing. */
  say(component: { readonly type: string; readonly version: string }): Said | undefined;
}

/**
 * The deciding one first: analyses before VEX. Of analyses that of the nearest group, then the more specific one, then
 * the later one. Of VEX what names an image, a version or a part of a package, then the later one.
 */
export function compareDecisions(a: Decision, b: Decision): number {
  return (
    rankOf(a.kind) - rankOf(b.kind) ||
    (a.kind === "analysis" ? b.group.length - a.group.length || specificity(b) - specificity(a) : 0) ||
    b.timeMs - a.timeMs ||
    (a.key < b.key ? -1 : 1)
  );
}

/** The rank of what is said, as the precedence of sources has it: 4 for feeds, whatever they cover. */
export function rankOf(kind: string): number {
  const place = ["analysis", "vex-exact", "vex"].indexOf(kind);
  return place < 0 ? 4 : place + 1;
}

function specificity({ digests, repos, packages }: Decision): number {
  if (digests.size > 0) return 5;
  return repos.size > 0 ? 4 : (packages?.specificity ?? 0);
}
