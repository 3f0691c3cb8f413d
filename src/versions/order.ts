/**
 * Sort keys of versions. The store sorts and pages by columns, so the order of versions must be an order of texts.
 *
 * For two versions of one scheme, the bytewise order of their keys is the order that the scheme defines. Numbers of any
 * size compare exactly. Every text has a key: a text that is not a version sorts before all versions, by its
 * characters.
 *
 * Follows: Maven's version order specification, PEP 440, Semantic Versioning 2.0.0.
 */
import { mavenOrder } from "./maven.ts";
import { maxVersionLength } from "./parts.ts";
import { pep440Order } from "./pep440.ts";
import { semverOrder } from "./semver.ts";
import type { VersionOrder } from "./sort-key.ts";

export type { VersionOrder } from "./sort-key.ts";

/** A scheme of versions with sort keys. */
export type VersionScheme = "maven" | "pep440" | "semver";

/** Longest key, short enough for an index of any database. */
export const maxKeyBytes = 2048;

const orders: Readonly<Record<VersionScheme, (version: string) => VersionOrder | undefined>> = {
  maven: mavenOrder,
  pep440: pep440Order,
  semver: semverOrder,
};

/** The position of a version among the others of its scheme. @param scheme undefined if unknown. */
export function versionOrder(scheme: VersionScheme | undefined, version: string): VersionOrder {
  const order = scheme === undefined || version.length > maxVersionLength ? undefined : orders[scheme](version);
  if (order === undefined) return { key: `0${version.slice(0, maxVersionLength)}`, isStable: false };
  return { ...order, key: `1${order.key}` };
}
