/** Components: packages at one version, whoever holds them, and the keys by which facts find them. */
import { isDistributionType, isImageType, packageUrlText, packageVersion, parsePackageUrl } from "../package-url.ts";
import { type ParsedVersion, parsePackageVersion } from "../versions/index.ts";
import { canonicalDistribution, canonicalRelease, distributionOf } from "./distributions.ts";
import { packageKey } from "./package-key.ts";
import type { UnmatchedReason } from "./reasons.ts";
import { streamOf, type UpdateStream } from "./releases.ts";

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

/** What a document says about a package beside its package URL. It counts where the package URL says nothing. */
export interface ComponentDetails {
  readonly version?: string | undefined;
  /** The release of the distribution: `debian-12`, `bookworm`. */
  readonly distro?: string | undefined;
  /** Name of the source package, or as of {@link sourceOf}. */
  readonly origin?: string | undefined;
  readonly originVersion?: string | undefined;
}

/** The key by which facts find a component, and what they are compared with. */
export class ComponentKey {
  readonly key: string;
  readonly type: string;
  /** The version that facts about this key are compared with. */
  readonly version: string;
  /** Whether it is the key of the source package, or that of the package itself. */
  readonly isSource: boolean;
  /** Canonical release of the distribution; "" if unknown. */
  readonly distro: string;
  #parsed: ParsedVersion | "" | undefined = "";
  #release = "";

  constructor(key: string, type: string, version: string, isSource = false, distro = "") {
    this.key = key;
    this.type = type;
    this.version = version;
    this.isSource = isSource;
    this.distro = distro;
  }

  /** The version, read once; undefined if the type has no order, or it is not a version of it. */
  get parsed(): ParsedVersion | undefined {
    if (this.#parsed === "") this.#parsed = parsePackageVersion(this.type, this.version);
    return this.#parsed;
  }

  /** What facts are chosen by, as a text: components with the same one meet the same facts about this key. */
  get release(): string {
    if (this.#release === "") this.#release = `${this.isSource ? "source" : "binary"} ${this.distro}${this.stream}`;
    return this.#release;
  }

  /** The stream of updates that the version comes from. */
  get stream(): UpdateStream {
    return streamOf(this.type, this.version);
  }
}

/** The component that a package URL names, or the reason why it names none. */
export function componentOf(purl: string, details: ComponentDetails = {}): Component | UnmatchedReason {
  const url = parsePackageUrl(purl);
  if (url === undefined) return "is not a package URL";
  const { type, qualifiers } = url;
  if (isImageType(type)) return "is an image, not a package";
  const version = packageVersion(url) || (details.version ?? "");
  if (version === "") return "has no version";
  const given = qualifiers.get("distro") || (details.distro ?? "");
  const isOfDistribution = isDistributionType(type);
  const namespace = isOfDistribution ? canonicalDistribution(url.namespace || distributionOf(given)) : url.namespace;
  const distro = isOfDistribution ? canonicalRelease(given, namespace) : "";
  const named = { type, namespace, name: url.name, version };
  const text = packageUrlText({ ...named, qualifiers: new Map([["distro", distro]]), subpath: "" });
  const upstream = qualifiers.get("upstream") || qualifiers.get("origin") || details.origin;
  const source = isOfDistribution ? sourceOf(upstream, version) : { origin: "", originVersion: "" };
  const originVersion = source.originVersion || (details.originVersion ?? "");
  return {
    purl: text,
    ...named,
    distro,
    origin: source.origin === url.name ? "" : source.origin,
    originVersion: originVersion === version ? "" : originVersion,
  };
}

/** Why no fact can be about a component; undefined if one can. */
export function unmatchedReason({
  type,
  namespace,
}: Pick<Component, "type" | "namespace">): UnmatchedReason | undefined {
  return isDistributionType(type) && namespace === "" ? "names no distribution" : undefined;
}

/** The keys by which facts find a component: its own, and for packages of distributions that of its source package. */
export function componentKeys(component: Component): ComponentKey[] {
  const { type, version, distro, origin, originVersion, name } = component;
  const key = packageKey(component);
  const own = new ComponentKey(key, type, version, false, distro);
  if (!isDistributionType(type)) return [own];
  const sourceKey = origin === "" || origin === name ? key : packageKey({ ...component, name: origin });
  return [own, new ComponentKey(sourceKey, type, originVersion || version, true, distro)];
}

/**
 * The source package and its version: `gcc-12`, `glibc@2.31-1`, `openssl-3.0.7-2.el9.src.rpm`. Names of files have no
 * epoch: a source of the same version has that of the package. Strings are "" where there is nothing.
 * @param upstream as the qualifier of package URLs has it. @param version of the package.
 */
export function sourceOf(upstream = "", version: string): { readonly origin: string; readonly originVersion: string } {
  const [, file, fileVersion = ""] = /^(.+)-([^-]+-[^-]+)\.src\.rpm$/.exec(upstream) ?? [];
  if (file !== undefined) {
    const isSame = version.replace(/^[0-9]+:/, "") === fileVersion;
    return { origin: file, originVersion: isSame ? version : fileVersion };
  }
  const at = upstream.lastIndexOf("@");
  return at > 0
    ? { origin: upstream.slice(0, at), originVersion: upstream.slice(at + 1) }
    : { origin: upstream, originVersion: "" };
}
