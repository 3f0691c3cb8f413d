/** What a record of a feed says about one vulnerability, in one form for all formats. Plain data. */
import type { AffectedFact, StatusEvent } from "./facts.ts";

/** What one source says of the severity. */
export interface RatingFact {
  /** `nvd`, `ghsa`, a distribution, or the name of another publisher, in lower case. */
  readonly source: string;
  /** A valid vector of CVSS; "" for a rating in words. */
  readonly vector: string;
  /** Of a rating without a vector: a word that stands for a level. */
  readonly word?: string | undefined;
}

/**
 * How a fact counts beside others: `vex-exact` names a version or a subcomponent, `vex` a product, `advisory` comes
 * from a distribution or another publisher of packages, `ecosystem` from a database about packages of others.
 */
export type FactKind = "vex-exact" | "vex" | "advisory" | "ecosystem";

/** What a record says about one package. */
export interface PackageFact {
  readonly kind: FactKind;
  /** The package key, which all facts have; "" where there is none, so that nothing is matched. */
  readonly key: string;
  /** What is said of its versions; of an advisory with events, for which releases and kinds of packages. */
  readonly facts: readonly AffectedFact[];
  /**
   * What happened, of an advisory with events. They hold for the versions that a fact lists, for all if it lists none.
   * Absent: the ranges and versions of the facts are what is affected.
   */
  readonly events?: readonly StatusEvent[] | undefined;
  /** The part of the package that a statement of VEX is about; absent: the package as a whole. */
  readonly subcomponent?: string | undefined;
  /** What the feed calls the package, where it has no key. */
  readonly name?: string | undefined;
  /** Why no package is matched with it, in words for people; absent when packages are. */
  readonly unmatched?: string | undefined;
  /** Ratings for this package. */
  readonly ratings?: readonly RatingFact[] | undefined;
}

/** What a record says about one vulnerability. Times are milliseconds since 1970. */
export interface VulnerabilityFacts {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly upstream: readonly string[];
  readonly related: readonly string[];
  /** In one line; "" if there is none. */
  readonly summary: string;
  readonly publishMs?: number | undefined;
  readonly modifyMs?: number | undefined;
  /** Absent while it is in force. A record that was withdrawn says nothing about packages. */
  readonly withdrawMs?: number | undefined;
  /** `CWE-79`. */
  readonly weaknesses: readonly string[];
  readonly ratings: readonly RatingFact[];
  readonly packages: readonly PackageFact[];
}
