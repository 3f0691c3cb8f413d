/** What findings are computed of, as it comes in. */
import type { Json } from "../contract.ts";

/** A package, as a list of an image names it. */
export interface RawPackage {
  readonly type: "npm" | "apk" | "deb";
  /** "" for npm, else the distribution. */
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  /** "" or `debian-12`. */
  readonly distro: string;
  /** "" where it has the name of the package. */
  readonly origin: string;
  /** "" where it is that of the package. */
  readonly originVersion: string;
}

/** A package in a list. */
export interface RawListed extends RawPackage {
  /** Another of the list, which owns its files. */
  readonly owner?: RawPackage | undefined;
}

/** An event of an advisory; times are in milliseconds since 1970. */
export interface RawEvent {
  readonly kind: "DETECTION" | "TRUE_POSITIVE" | "FALSE_POSITIVE" | "FIXED" | "PENDING_UPSTREAM" | "FIX_NOT_PLANNED";
  readonly timeMs: number;
  readonly fixedVersion?: string;
  readonly justification?: string;
  /** Of a detection: the name of what was found in the package. */
  readonly part?: string;
}

/** A record of a feed: in the format of OSV, or an advisory with events about one package. */
export type RawRecord =
  | { readonly feed: string; readonly id: string; readonly osv: Json }
  | { readonly feed: string; readonly id: string; readonly advisory: RawAdvisory };

export interface RawAdvisory {
  readonly aliases: readonly string[];
  readonly modifyMs: number;
  readonly kind: "advisory" | "vex" | "vex-exact";
  /** Of a package of Wolfi. */
  readonly name: string;
  readonly events: readonly RawEvent[];
}

/** Packages that a feed is complete for. */
export interface RawClaim {
  readonly pattern: string;
  readonly coverage: "COMPLETE" | "FIXES_ONLY";
}

/** A repo, and what is in it by digest. */
export interface RawRepo {
  readonly uid: string;
  readonly name: string;
  readonly group: string;
  /** The digests of the platforms of each image; one that is no index has itself. */
  readonly images: Map<string, readonly string[]>;
  readonly lists: Map<string, readonly RawListed[]>;
  /** Digests by the names of tags. */
  readonly tags: Map<string, string>;
}

/** A decision of a group. */
export interface RawAnalysis {
  readonly uid: string;
  readonly group: string;
  readonly vulnerabilityId: string;
  /** Absent: about all packages. */
  readonly package?: Pick<RawPackage, "type" | "namespace" | "name"> | undefined;
  /** The version that it is about, or a version that those it is about are below; absent: all. */
  readonly version?: string | undefined;
  readonly below?: string | undefined;
  readonly repos: readonly string[];
  readonly digests: readonly string[];
  readonly state: "AFFECTED" | "UNDER_INVESTIGATION" | "FIXED" | "NOT_AFFECTED" | "ACCEPTED";
  readonly justification: string;
  /** When it was changed last, in milliseconds since 1970. */
  readonly updateMs: number;
}

/** Everything that was told, and not taken back. */
export class RawInputs {
  readonly repos: RawRepo[] = [];
  /** By feed and id. */
  readonly records = new Map<string, RawRecord>();
  /** In millionths, with the percentile, by CVE. */
  readonly epss = new Map<string, { readonly epss: number; readonly percentile: number }>();
  /** The required action by CVE. */
  readonly exploited = new Map<string, string>();
  readonly claims = new Map<string, readonly RawClaim[]>();
  feedOrder: readonly string[] = [];
  /** By uid. */
  readonly analyses = new Map<string, RawAnalysis>();
}

/** The canonical package URL. */
export function purlOf({ type, namespace, name, version, distro }: RawPackage): string {
  const path = namespace === "" ? name : `${namespace}/${name}`;
  return `pkg:${type}/${path}@${version}${distro === "" ? "" : `?distro=${distro}`}`;
}

/** The package URL without version. */
export function keyOf({ type, namespace }: Pick<RawPackage, "type" | "namespace">, name: string): string {
  return `pkg:${type}/${namespace === "" ? name : `${namespace}/${name}`}`;
}
