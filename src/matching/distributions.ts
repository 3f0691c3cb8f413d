/**
 * Distributions and their releases, as package URLs name them: the namespace `debian` and the qualifier `distro` of
 * `debian-12`. Tools write both in several ways, and have one canonical form here. What is not known stays as it is, in
 * lower case: it equals only itself.
 */

/** Other names of distributions: of `/etc/os-release`, of scanners and of OSV. */
const distributionNames: ReadonlyMap<string, string> = new Map([
  ["rhel", "redhat"],
  ["red-hat", "redhat"],
  ["rocky-linux", "rocky"],
  ["rockylinux", "rocky"],
  ["alma", "almalinux"],
  ["alma-linux", "almalinux"],
  ["amzn", "amazon"],
  ["amazonlinux", "amazon"],
  ["ol", "oracle"],
  ["oraclelinux", "oracle"],
  ["sles", "suse"],
  ["sled", "suse"],
  ["sle-micro", "suse"],
  ["sl-micro", "suse"],
  ["opensuse-leap", "opensuse"],
  ["opensuse.leap", "opensuse"],
  ["opensuse-leap-micro", "opensuse"],
  ["opensuse-tumbleweed", "opensuse"],
  ["opensuse.tumbleweed", "opensuse"],
  ["azure-linux", "azurelinux"],
  ["mariner", "azurelinux"],
  ["cbl-mariner", "azurelinux"],
  ["photon-os", "photon"],
  ["archlinux", "arch"],
]);

/** Products of a distribution whose releases are counted apart. */
const releaseLines: ReadonlyMap<string, string> = new Map([
  ["sle-micro", "suse-micro"],
  ["sl-micro", "suse-micro"],
  ["opensuse-leap-micro", "opensuse-micro"],
]);

/** Distributions and products without releases. What they name as one is a date. */
const rolling: ReadonlySet<string> = new Set(["arch", "chainguard", "minimos", "wolfi"]);
const tumbleweed = "opensuse-tumbleweed";

/** Code names of releases that have a number. */
const codeNames: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  debian: namesOf(`
    buzz 1.1, rex 1.2, bo 1.3, hamm 2.0, slink 2.1, potato 2.2, woody 3.0, sarge 3.1, etch 4, lenny 5, squeeze 6,
    wheezy 7, jessie 8, stretch 9, buster 10, bullseye 11, bookworm 12, trixie 13, forky 14, duke 15`),
  ubuntu: namesOf(`
    trusty 14.04, utopic 14.10, vivid 15.04, wily 15.10, xenial 16.04, yakkety 16.10, zesty 17.04, artful 17.10,
    bionic 18.04, cosmic 18.10, disco 19.04, eoan 19.10, focal 20.04, groovy 20.10, hirsute 21.04, impish 21.10,
    jammy 22.04, kinetic 22.10, lunar 23.04, mantic 23.10, noble 24.04, oracular 24.10, plucky 25.04, questing 25.10,
    resolute 26.04`),
};

function namesOf(text: string): ReadonlyMap<string, string> {
  return new Map(text.split(",").map((pair) => pair.trim().split(" ") as [string, string]));
}

/** The name of a distribution that stands for all of its names: `redhat` for `rhel`. */
export function canonicalDistribution(namespace: string): string {
  const name = namespace.toLowerCase();
  return distributionNames.get(name) ?? name;
}

/**
 * The canonical form of a release: `debian-12` for `12`, `bookworm` and `debian-bookworm`, `alpine-3.19` for `v3.19`;
 * "" for distributions without releases.
 * @param distro qualifier of a package URL; "" for none. @param namespace the distribution; "" if unknown.
 */
export function canonicalRelease(distro: string, namespace: string): string {
  const { line, release } = split(distro, namespace);
  if (line === tumbleweed || release === "tumbleweed") return tumbleweed;
  if (release === "" || rolling.has(line)) return "";
  if (line === "") return release;
  // The release in development names the one that it becomes.
  if (line === "alpine" && release.includes("_alpha")) return "alpine-edge";
  return `${line}-${codeNames[line]?.get(release) ?? release.replace(/^v(?=\d)/, "")}`;
}

/** The distribution that a release names: `alpine` of `alpine-3.19`; "" if it names none. */
export function distributionOf(distro: string): string {
  return split(distro, "").distribution;
}

/**
 * Whether what is said of one release holds for another: it is the same, or a point release of it. `debian-12` holds
 * for `debian-12.5`, `alpine-3.19` for `alpine-3.19.1`; not the reverse.
 * @param stated canonical; "" if it is said of all. @param release canonical; "" if unknown.
 */
export function isOfRelease(stated: string, release: string): boolean {
  return stated === "" || release === stated || release.startsWith(`${stated}.`);
}

interface Release {
  readonly distribution: string;
  /** The distribution, or the product of it whose releases are counted apart. */
  readonly line: string;
  readonly release: string;
}

/** A release that does not name its distribution is one of `namespace`. */
function split(distro: string, namespace: string): Release {
  const text = distro.trim().toLowerCase();
  const given = canonicalDistribution(namespace);
  if (text === "" || canonicalDistribution(text) === given)
    return { distribution: given, line: lineOf(text, given), release: "" };
  const named = Object.keys(codeNames).find((each) => codeNames[each]!.has(text));
  if (named !== undefined) return { distribution: named, line: named, release: text };
  const [, name, number] = /^([a-z][a-z0-9._]*(?:-[a-z][a-z0-9._]*)*)-(v?\d\S*)$/.exec(text) ?? [];
  if (name !== undefined) {
    const distribution = canonicalDistribution(name);
    return { distribution, line: lineOf(name, distribution), release: number! };
  }
  const prefix = given === "" ? Object.keys(codeNames).find((each) => text.startsWith(`${each}-`)) : given;
  if (prefix === undefined) return { distribution: "", line: "", release: text };
  const release = text.startsWith(`${prefix}-`) ? text.slice(prefix.length + 1) : text;
  return { distribution: prefix, line: prefix, release };
}

function lineOf(name: string, distribution: string): string {
  if (/^opensuse[-.]tumbleweed$/.test(name)) return tumbleweed;
  return releaseLines.get(name) ?? distribution;
}
