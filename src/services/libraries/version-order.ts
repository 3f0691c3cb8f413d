/**
 * The orders of versions, one for each ecosystem, as keys: the store sorts and pages by a column, so an order must be the order of texts.
 *
 * It refuses nothing: a text that its ecosystem does not hold for a version has a key too, below all that are, by its letters. It knows
 * nothing of ranges, requirements or what may replace what.
 *
 * Promises: for two versions of one ecosystem, the bytewise order of their keys is the order its standard gives them. Numbers of any size compare
 * exactly. A key is at most {@link maxKeyBytes} long, so that an index can hold it.
 *
 * Follows: Maven's version order specification, PEP 440, Semantic Versioning 2.0.0; each file states its own.
 */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { mavenOrder } from "./maven-version.ts";
import { pep440Order } from "./pep440-version.ts";
import { semverOrder } from "./semver-version.ts";
import type { VersionOrder } from "./sort-key.ts";

export type { VersionOrder } from "./sort-key.ts";

/** No index of any database refuses a text of this size. */
export const maxKeyBytes = 2048;

/** The longest version that is looked into; a longer text is none. */
const maxVersionLength = 255;

const orders: ReadonlyMap<Ecosystem, (version: string) => VersionOrder | undefined> = new Map([
  [Ecosystem.JAVA, mavenOrder],
  [Ecosystem.PYTHON, pep440Order],
  [Ecosystem.JAVASCRIPT, semverOrder],
]);

/** Where a version stands among the others of its ecosystem. */
export function versionOrder(ecosystem: Ecosystem, version: string): VersionOrder {
  const order = version.length > maxVersionLength ? undefined : orders.get(ecosystem)?.(version);
  if (order === undefined) return { key: `0${version.slice(0, maxVersionLength)}`, isStable: false };
  return { ...order, key: `1${order.key}` };
}
