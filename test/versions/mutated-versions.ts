/** Pairs of versions. In most of them, one is the other with a few changes. The pairs are the same in every run. */
import { randomNumbers } from "../feeds/random-numbers.ts";

const bases = [
  ..."1 1.0 1.0.0 2.1.3 1.0-SNAPSHOT 1.0-alpha-1 1.0-beta2 1.0.RC1 1.0-rc-2 3.2.1.Final 31.1-jre 31.1-android".split(
    " ",
  ),
  ..."1.0.0.RELEASE 2.0-M1 1.0-sp1 20040616 1.0-20240101.123456-7 4.1.100.Final 1.0.0-alpha.1 5.3.0.CR1".split(" "),
  ..."2.13.4.2 1.8.0_292 0.9.5-pre2 7.0.0.pre5 1.0b3 1.0-a1 1-ga-1 1.x 2.0.0-M10.1 1.2.3-4 1.2.3.4-5 r09 v1".split(" "),
];
const tokens = [
  ..."0 1 2 10 00 01 a b m alpha beta milestone rc cr snapshot SNAPSHOT ga final release sp x foo jre GA Final".split(
    " ",
  ),
  ..."é _ + a1 99999999999999999999 4294967296".split(" "),
  "",
];
const separators = [".", "-", "", "--", "..", ".-", "-.", "_"];

/** `count` pairs. */
export function mutatedVersions(count: number): (readonly [string, string])[] {
  const { below } = randomNumbers(1);
  const pick = <T>(list: readonly T[]) => list[below(list.length)]!;
  const changes: ((version: string, place: number) => string)[] = [
    (version, place) => version.slice(0, place) + pick(separators) + pick(tokens) + version.slice(place),
    (version, place) => version.slice(0, place) + version.slice(place + 1),
    (version) => version + pick(separators) + pick(tokens),
    (version) => version.replace(/[.-]/, () => pick(separators)),
    (version) => {
      const found = [...version.matchAll(/[0-9]+|[a-zA-Z]+/g)];
      if (found.length === 0) return version;
      const { 0: text, index } = pick(found);
      return version.slice(0, index) + pick(tokens) + version.slice(index + text.length);
    },
    (version) => pick(tokens) + pick(separators) + version,
  ];
  const mutate = (version: string) => {
    let changed = version;
    for (let left = 1 + below(3); left > 0; left--) changed = pick(changes)(changed, below(changed.length + 1));
    return changed;
  };
  return Array.from({ length: count }, () => {
    const first = below(2) === 0 ? pick(bases) : mutate(pick(bases));
    return [first, below(10) < 7 ? mutate(first) : mutate(pick(bases))];
  });
}
