/** Components: packages at one version, whoever holds them, and the keys by which facts find them. */
import { packageUrlText, packageVersion, parsePackageUrl } from "../package-url.ts";
import { canonicalDistribution, canonicalRelease, distributionOf } from "./distributions.ts";
import { isDistributionType, packageKey } from "./package-key.ts";

/** One package at one version. Strings are "" where there is nothing or it is unknown. */
export interface Component {
  /**
   * The canonical package URL: type, namespace, name, version, and `distro` as its only qualifier. The same package on
   * two architectures is one component.
   */
  readonly purl: string;
  readonly type: string;
  /** For apk, deb, rpm and alpm the distribution. */
  readonly namespace: string;
  readonly name: string;
  /** With the epoch, where the type has one. Never "". */
  readonly version: string;
  /** Canonical release of the distribution: `debian-12.5`. */
  readonly distro: string;
  /** Name of the source package; "" if it is unknown or has the name of the package. */
  readonly origin: string;
  /** Version of the source package; "" if it is that of the package. */
  readonly originVersion: string;
}

/** What a document says about a package beside its package URL. */
export interface ComponentDetails {
  /** Used where the package URL has none. */
  readonly version?: string | undefined;
  /** The release of the distribution, used where the package URL has none. */
  readonly distro?: string | undefined;
  readonly origin?: string | undefined;
  readonly originVersion?: string | undefined;
}

/** Why a package cannot be matched, in words for people. */
export type UnmatchedReason =
  | "is not a package URL"
  | "has no version"
  | "is an image, not a package"
  | "names no distribution"
  | "has a type whose versions have no order"
  | "has a version that is not one of its type";

/** A key by which facts find a component. */
export interface ComponentKey {
  readonly key: string;
  /** The version that facts about this key are compared with. */
  readonly version: string;
  /** Whether it is the key of the source package, or that of the package itself. */
  readonly isSource: boolean;
}

/** Types of package URLs that name an image. */
const imageTypes = new Set(["docker", "oci"]);

/** The component that a package URL names, or the reason why it names none. */
export function componentOf(purl: string, details: ComponentDetails = {}): Component | UnmatchedReason {
  const url = parsePackageUrl(purl);
  if (url === undefined) return "is not a package URL";
  const { type, qualifiers } = url;
  if (imageTypes.has(type)) return "is an image, not a package";
  const version = packageVersion(url) || (details.version ?? "");
  if (version === "") return "has no version";
  const given = qualifiers.get("distro") || (details.distro ?? "");
  const isOfDistribution = isDistributionType(type);
  const namespace = isOfDistribution ? canonicalDistribution(url.namespace || distributionOf(given)) : url.namespace;
  const distro = isOfDistribution ? canonicalRelease(given, namespace) : "";
  const named = { type, namespace, name: url.name };
  const canonical = { ...named, version, qualifiers: new Map([["distro", distro]]), subpath: "" };
  return { purl: packageUrlText(canonical), ...named, version, distro, ...originOf(details, url.name, version) };
}

/** Why no fact can ever be about a component; undefined if one can. */
export function unmatchedReason({ type, namespace }: Component): UnmatchedReason | undefined {
  return isDistributionType(type) && namespace === "" ? "names no distribution" : undefined;
}

/** The keys by which facts find a component: its own, and that of its source package. */
export function componentKeys({ type, namespace, name, version, origin, originVersion }: Component): ComponentKey[] {
  const own = { key: packageKey({ type, namespace, name }), version, isSource: false };
  if (!isDistributionType(type)) return [own];
  const key = origin === "" ? own.key : packageKey({ type, namespace, name: origin });
  return [own, { key, version: originVersion || version, isSource: true }];
}

function originOf({ origin = "", originVersion = "" }: ComponentDetails, name: string, version: string) {
  return { origin: origin === name ? "" : origin, originVersion: originVersion === version ? "" : originVersion };
}
