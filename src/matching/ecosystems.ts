/**
 * Packages of OSV records (https://ossf.github.io/osv-schema/, `affected[].package`): an ecosystem, which may name a
 * release, and a name in it.
 */
import { isDistributionType } from "../package-url.ts";
import { canonicalRelease } from "./distributions.ts";
import { packageKey, packageKeyOfUrl, typeOfKey } from "./package-key.ts";
import type { UnmatchedReason } from "./reasons.ts";

/** A package, as an OSV record names it. */
export interface OsvPackage {
  /** With its suffix: `Debian:12`. */
  readonly ecosystem: string;
  readonly name: string;
  /** Used for ecosystems that are not known here. */
  readonly purl?: string | undefined;
}

/** The package that a fact is about. */
export interface FactPackage {
  /** As {@link packageKey} returns it. */
  readonly key: string;
  /**
   * Canonical release of the distribution; "" for all. What is said of one stream of updates of Ubuntu ends in its
   * name: `ubuntu-18.04+pro`, `ubuntu-18.04+fips`.
   */
  readonly distro: string;
  /** Whether the key is that of a source package; absent if the ecosystem names both, or does not say. */
  readonly isSource?: boolean;
}

interface Ecosystem {
  readonly type: string;
  /** The distribution. */
  readonly namespace?: string;
  /** What separates namespace and name. */
  readonly joiner?: RegExp;
  readonly isSource?: boolean;
  /** The release of a suffix, which canonicalRelease knows; undefined for a product that is not a release. */
  readonly release?: (suffix: string) => string | undefined;
}

const lastSlash = /\/(?=[^/]*$)/;

const ecosystems: Readonly<Record<string, Ecosystem>> = {
  AlmaLinux: { type: "rpm", namespace: "almalinux" },
  Alpaquita: { type: "apk", namespace: "alpaquita", isSource: true },
  Alpine: { type: "apk", namespace: "alpine", isSource: true },
  "Azure Linux": { type: "rpm", namespace: "azurelinux", isSource: true },
  "BellSoft Hardened Containers": { type: "apk", namespace: "bellsoft-hardened-containers", isSource: true },
  Bitnami: { type: "bitnami" },
  Chainguard: { type: "apk", namespace: "chainguard" },
  ConanCenter: { type: "conan" },
  CRAN: { type: "cran" },
  "crates.io": { type: "cargo" },
  Debian: { type: "deb", namespace: "debian", isSource: true },
  // Other suffixes name package managers: `Echo:PyPI`.
  Echo: {
    type: "deb",
    namespace: "echo",
    isSource: true,
    release: (suffix) => (/^\d/.test(suffix) ? suffix : undefined),
  },
  "GitHub Actions": { type: "github", joiner: lastSlash },
  Go: { type: "golang", joiner: lastSlash },
  Hackage: { type: "hackage" },
  Hex: { type: "hex", joiner: lastSlash },
  Julia: { type: "julia" },
  Mageia: { type: "rpm", namespace: "mageia", isSource: true },
  Maven: { type: "maven", joiner: /:/ },
  MinimOS: { type: "apk", namespace: "minimos" },
  npm: { type: "npm", joiner: lastSlash },
  NuGet: { type: "nuget" },
  opam: { type: "opam" },
  openEuler: { type: "rpm", namespace: "openeuler", isSource: true },
  openSUSE: { type: "rpm", namespace: "opensuse", isSource: true, release: releaseOfOpenSuse },
  Packagist: { type: "composer", joiner: lastSlash },
  "Photon OS": { type: "rpm", namespace: "photon" },
  Pub: { type: "pub" },
  PyPI: { type: "pypi" },
  "Red Hat": { type: "rpm", namespace: "redhat", release: releaseOfRedHat },
  "Rocky Linux": { type: "rpm", namespace: "rocky" },
  RubyGems: { type: "gem" },
  SUSE: { type: "rpm", namespace: "suse", isSource: true, release: releaseOfSuse },
  SwiftURL: { type: "swift", joiner: lastSlash },
  Ubuntu: { type: "deb", namespace: "ubuntu", isSource: true, release: releaseOfUbuntu },
  VSCode: { type: "vscode-extension", joiner: /\./ },
  Wolfi: { type: "apk", namespace: "wolfi" },
};

/** Ecosystems whose packages have no type of package URL, or whose versions are not those of the package. */
const withoutUrls: ReadonlySet<string> = new Set([
  ..."Android Bioconductor CleanStart FreeBSD GHC GIT Kubernetes Linux OSS-Fuzz Root TuxCare".split(" "),
  "Docker Hardened Images",
]);

/** The package that an item of `affected` is about, or the reason why it cannot be known. */
export function keyOfOsvPackage({ ecosystem: text, name, purl = "" }: OsvPackage): FactPackage | UnmatchedReason {
  const colon = text.indexOf(":");
  const [id, suffix] = colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  const ecosystem = Object.hasOwn(ecosystems, id) ? ecosystems[id] : undefined;
  if (ecosystem === undefined) return ofUrl(purl) ?? without(id);
  const { type, isSource } = ecosystem;
  if (!isDistributionType(type)) return { key: packageKey({ type, ...partsOf(name, ecosystem) }), distro: "" };
  const namespace = ecosystem.namespace!;
  const release = suffix === "" ? "" : (ecosystem.release ?? String)(suffix);
  if (release === undefined) return "is of a product, not of a release";
  const [base = "", stream] = release.split("+");
  const distro = canonicalRelease(base, namespace) + (stream === undefined ? "" : `+${stream}`);
  return { key: packageKey({ type, namespace, name }), distro, ...(isSource !== undefined && { isSource }) };
}

function ofUrl(purl: string): FactPackage | undefined {
  const key = packageKeyOfUrl(purl);
  // A package of a distribution would be one of all its releases.
  return key === undefined || isDistributionType(typeOfKey(key)) ? undefined : { key, distro: "" };
}

function without(id: string): UnmatchedReason {
  return withoutUrls.has(id) ? "is of an ecosystem without package URLs" : "is of an unknown ecosystem";
}

function partsOf(text: string, { type, joiner }: Ecosystem): { namespace: string; name: string } {
  // A package of Swift is the address of its repository.
  const name = type === "swift" ? text.replace(/^[a-z+]+:\/\//i, "").replace(/(?:\.git)?\/*$/, "") : text;
  const match = joiner?.exec(name);
  if (!match) return { namespace: "", name };
  return { namespace: name.slice(0, match.index), name: name.slice(match.index + 1) };
}

/** `22.04:LTS`, `Pro:18.04:LTS`, `Pro:FIPS-updates:20.04:LTS`. */
function releaseOfUbuntu(suffix: string): string | undefined {
  const [release] = /\d+\.\d+/.exec(suffix) ?? [];
  if (release === undefined) return undefined;
  return release + (/FIPS/.test(suffix) ? "+fips" : /(?:^|:)Pro(?:$|:)/.test(suffix) ? "+pro" : "");
}

/**
 * A CPE of Red Hat without its start: `enterprise_linux:9::baseos`, and `rhel_eus:9.2::appstream` for a minor release
 * with updates of its own.
 */
function releaseOfRedHat(suffix: string): string | undefined {
  const products = "enterprise_linux(?:_eus)?|rhel_(?:aus|e4s|els|eus|eus_long_life|extras|mission_critical|tus)";
  return new RegExp(`^(?:${products}):(\\d+(?:\\.\\d+)?)(?::|$)`).exec(suffix)?.[1];
}

/** `Linux Enterprise Server 15 SP5`, `Linux Enterprise Module for Basesystem 15 SP5`, `Linux Micro 6.0`. */
function releaseOfSuse(suffix: string): string | undefined {
  const [, micro] = /^Linux (?:Enterprise )?Micro (?:for Rancher )?(\d+\.\d+)/.exec(suffix) ?? [];
  if (micro !== undefined) return `sle-micro-${micro}`;
  const [, major, servicePack = "0"] = /^Linux Enterprise\b.*? (\d+)(?:[ -]SP(\d+))?(?![\w.])/.exec(suffix) ?? [];
  return major && `${major}.${servicePack}`;
}

/** `Leap 15.5`, `Leap Micro 5.5`, `Tumbleweed`. */
function releaseOfOpenSuse(suffix: string): string | undefined {
  if (/^Tumbleweed$/i.test(suffix)) return "tumbleweed";
  const [, micro, release] = /^Leap (Micro )?(\d+\.\d+)$/.exec(suffix) ?? [];
  return release && (micro === undefined ? release : `opensuse-leap-micro-${release}`);
}
