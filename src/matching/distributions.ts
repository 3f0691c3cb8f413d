/**
 * Distributions and their releases, as package URLs name them: the namespace `debian` and the qualifier `distro` of
 * `debian-12`. Tools write both in several ways. This file knows one form of each.
 *
 * A release is `NAMESPACE-RELEASE`. Code names of Debian and Ubuntu are numbers: `bookworm` is `debian-12`. What is not
 * known stays as it is, in lower case: it equals only itself.
 */

/** Other names of distributions: of `/etc/os-release`, and of scanners. */
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
  ["sle", "suse"],
  ["suse.linux.enterprise.server", "suse"],
  ["opensuse-leap", "opensuse"],
  ["opensuse.leap", "opensuse"],
  ["opensuse-tumbleweed", "opensuse"],
  ["opensuse.tumbleweed", "opensuse"],
  ["cbl-mariner", "mariner"],
  ["azure-linux", "azurelinux"],
  ["azure", "azurelinux"],
  ["archlinux", "arch"],
]);

/** Code names of releases that have a number. */
const codeNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  debian: {
    buzz: "1.1",
    rex: "1.2",
    bo: "1.3",
    hamm: "2.0",
    slink: "2.1",
    potato: "2.2",
    woody: "3.0",
    sarge: "3.1",
    etch: "4",
    lenny: "5",
    squeeze: "6",
    wheezy: "7",
    jessie: "8",
    stretch: "9",
    buster: "10",
    bullseye: "11",
    bookworm: "12",
    trixie: "13",
    forky: "14",
    duke: "15",
  },
  ubuntu: {
    trusty: "14.04",
    utopic: "14.10",
    vivid: "15.04",
    wily: "15.10",
    xenial: "16.04",
    yakkety: "16.10",
    zesty: "17.04",
    artful: "17.10",
    bionic: "18.04",
    cosmic: "18.10",
    disco: "19.04",
    eoan: "19.10",
    focal: "20.04",
    groovy: "20.10",
    hirsute: "21.04",
    impish: "21.10",
    jammy: "22.04",
    kinetic: "22.10",
    lunar: "23.04",
    mantic: "23.10",
    noble: "24.04",
    oracular: "24.10",
    plucky: "25.04",
    questing: "25.10",
    resolute: "26.04",
  },
};

/** The name of a distribution that stands for all of its names: `redhat` for `rhel`. */
export function canonicalDistribution(namespace: string): string {
  const name = namespace.toLowerCase();
  return distributionNames.get(name) ?? name;
}

/**
 * The canonical form of a release: `debian-12` for `12`, `bookworm` and `debian-bookworm`, `alpine-3.19` for `v3.19`.
 * @param distro qualifier of a package URL, "" for none. @param namespace the distribution; "" if unknown.
 */
export function canonicalRelease(distro: string, namespace: string): string {
  const text = distro.trim().toLowerCase();
  if (text === "") return "";
  const { distribution, release } = split(text, canonicalDistribution(namespace));
  if (distribution === "") return release;
  if (release === "") return distribution;
  const number = codeNames[distribution]?.[release] ?? release.replace(/^v(?=\d)/, "");
  return `${distribution}-${number}`;
}

/** The distribution that a release names: `alpine` of `alpine-3.19`; "" if it names none. */
export function distributionOf(distro: string): string {
  return split(distro.trim().toLowerCase(), "").distribution;
}

/**
 * Whether what is said of one release holds for another: it is the same, or a point release of it. `debian-12` holds
 * for `debian-12.5`, `alpine-3.19` for `alpine-3.19.1`; not the reverse.
 * @param stated canonical, "" if it is said of all. @param release canonical, not "".
 */
export function isOfRelease(stated: string, release: string): boolean {
  return stated === "" || release === stated || release.startsWith(`${stated}.`);
}

/** A release without its distribution is one of `namespace`. */
function split(text: string, namespace: string): { distribution: string; release: string } {
  for (const [distribution, names] of Object.entries(codeNames)) {
    if (Object.hasOwn(names, text)) return { distribution, release: text };
  }
  const [, name, release] = /^([a-z][a-z0-9.]*(?:-[a-z][a-z0-9.]*)*)-(v?\d[^ ]*)$/.exec(text) ?? [];
  if (name !== undefined) return { distribution: canonicalDistribution(name), release: release! };
  for (const distribution of Object.keys(codeNames)) {
    if (text.startsWith(`${distribution}-`)) return { distribution, release: text.slice(distribution.length + 1) };
  }
  if (/^v?\d/.test(text)) return { distribution: namespace, release: text };
  const known = canonicalDistribution(text);
  return known === namespace ? { distribution: known, release: "" } : { distribution: "", release: text };
}
