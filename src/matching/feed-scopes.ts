/** Which feeds are complete for which packages. */
import { isOfRelease } from "./distributions.ts";

/**
 * What a feed lists of the packages that it is complete for: all vulnerabilities (COMPLETE), or those that are fixed
 * and those that never affected them (FIXES_ONLY), as secdb does.
 */
export type Coverage = "COMPLETE" | "FIXES_ONLY";

/** Packages that a feed is complete for. */
export interface FeedScope {
  readonly feed: string;
  /**
   * The key of a package, or the start of keys and `*`: `pkg:apk/wolfi/*`. With `?distro=`, a canonical release:
   * `pkg:apk/alpine/*?distro=alpine-3.19`.
   */
  readonly pattern: string;
  readonly coverage: Coverage;
}

interface Scope {
  /** The key, or its start. */
  readonly text: string;
  readonly isPrefix: boolean;
  readonly distro: string;
  readonly coverage: Coverage;
}

/** The scopes of all feeds, read once for many packages. */
export class FeedScopes {
  readonly #byFeed: ReadonlyMap<string, readonly Scope[]>;

  constructor(scopes: readonly FeedScope[]) {
    const byFeed = Map.groupBy(scopes, ({ feed }) => feed);
    this.#byFeed = new Map([...byFeed].map(([feed, ofFeed]) => [feed, ofFeed.map(compile).sort(narrowestFirst)]));
  }

  /**
   * What a feed lists of a package: by the narrowest pattern that matches; undefined if it is not complete for it.
   * @param distro canonical release of the package; "" if unknown: then patterns with a release do not match.
   */
  coverage(feed: string, key: string, distro = ""): Coverage | undefined {
    const matches = (scope: Scope) =>
      (scope.isPrefix ? key.startsWith(scope.text) : key === scope.text) && isOfRelease(scope.distro, distro);
    return this.#byFeed.get(feed)?.find(matches)?.coverage;
  }
}

function compile({ pattern, coverage }: FeedScope): Scope {
  const [keys = "", distro = ""] = pattern.split("?distro=");
  const isPrefix = keys.endsWith("*");
  return { text: isPrefix ? keys.slice(0, -1) : keys, isPrefix, distro, coverage };
}

function narrowestFirst(a: Scope, b: Scope): number {
  return Number(a.isPrefix) - Number(b.isPrefix) || b.text.length - a.text.length || b.distro.length - a.distro.length;
}
