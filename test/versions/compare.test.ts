import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparePackageVersions } from "../../src/versions/compare.ts";

/** Versions of each type in ascending order. Versions in one list are equal. */
const ascending: Readonly<Record<string, readonly (readonly string[])[]>> = {
  apk: [
    ["0.9"],
    ["1.0_alpha"],
    ["1.0_alpha1"],
    ["1.0_alpha2-r0"],
    ["1.0_beta"],
    ["1.0_pre1"],
    ["1.0_rc1"],
    ["1.0"],
    ["1.0~1a2b"],
    ["1.0_cvs1"],
    ["1.0_git20240101"],
    ["1.0_p1"],
    ["1.0_p1-r0"],
    ["1.0a"],
    ["1.0.09"],
    ["1.0.1"],
    ["1.0.2"],
    ["1.0.10"],
    ["1.1-r0", "1.1-r00"],
    ["1.1-r9"],
    ["1.1-r10"],
    ["3.3.1-r0"],
    ["3.3.1-r1"],
    ["10.0"],
    ["99999999999999999999"],
    ["100000000000000000000"],
  ],
  deb: [
    ["1.0~~"],
    ["1.0~~a"],
    ["1.0~"],
    ["1.0~rc1-1"],
    ["1.0", "1.0-0", "0:1.0", "1.00"],
    ["1.0-1~bpo1"],
    ["1.0-1", "1.0-01"],
    ["1.0-1+b1"],
    ["1.0-2"],
    ["1.0-10"],
    ["1.0a"],
    ["1.0+dfsg"],
    ["1.0.1"],
    ["1.2.3-1-1"],
    ["1.10"],
    ["1:0.1"],
    ["2:0"],
  ],
  rpm: [
    ["1.0~rc1"],
    ["1.0"],
    ["1.0^git1"],
    ["1.0^git2"],
    ["1.0.1", "1_0_1"],
    ["1.0.1-"],
    ["1.1.fc1"],
    ["1.1.1"],
    ["1.9"],
    ["1.10", "1.010"],
    ["1.11"],
    ["1.11-1.el9"],
    ["1.11-2.el9"],
    ["1.11-10.el9"],
    ["1:0.1"],
  ],
  alpm: [
    ["1.0a-1"],
    ["1.0b"],
    ["1.0rc1"],
    ["1.0", "1.0-1"],
    ["1.0.a"],
    ["1.0.1-1"],
    ["1.0..1"],
    ["1.1-1"],
    ["1.1-2.1"],
    ["1:0.1-1"],
  ],
  bitnami: [["1.2.3"], ["1.2.3-1"], ["1.2.3-10"], ["1.2.4"]],
  cargo: [["1.0.0-alpha"], ["1.0.0-alpha.1"], ["1.0.0", "1.0.0+build"], ["1.0.1"]],
  "chrome-extension": [["1", "1.0.0.0"], ["1.0.0.1"], ["1.10"], ["2.9"]],
  composer: [
    ["1.0-dev"],
    ["1.0.0-alpha", "v1.0.0.0a"],
    ["1.0.0-alpha.2"],
    ["1.0.0-beta2"],
    ["1.0-RC1", "1.0rc1"],
    ["1", "v1.0.0", "1.0.0-stable", "1.0.0+build"],
    ["1.0.0-patch1", "1.0pl1"],
    ["1.0.1"],
    ["1.x-dev"],
    ["2.0.0"],
    ["2010-01-03"],
    ["20100102"],
  ],
  conan: [["1.0-pre.1"], ["1.0-pre.2"], ["1", "1.0.0"], ["1.0+b1"], ["1.1.1"], ["1.1.1a"], ["1.10"], ["cci.20230101"]],
  conda: [
    ["0.4", "0.4.0"],
    ["0.4.1.rc", "0.4.1.RC"],
    ["0.4.1"],
    ["0.5a1"],
    ["0.5b3"],
    ["0.5C1"],
    ["0.5"],
    ["0.9.6"],
    ["0.960923"],
    ["1.0"],
    ["1.1dev1"],
    ["1.1_"],
    ["1.1a1"],
    ["1.1.0dev1", "1.1.dev1"],
    ["1.1.a1"],
    ["1.1.0rc1", "1.1.rc1"],
    ["1.1", "1.1.0"],
    ["1.1+1"],
    ["1.1.0post1", "1.1.post1"],
    ["1.1post1"],
    ["1996.07.12"],
    ["1!0.4.1"],
    ["2!0.4.1"],
  ],
  cpan: [["0.9913"], ["1", "1.0", "v1.0.0"], ["1.002003", "v1.2.3", "1.2.3"], ["1.02"], ["1.02_03"], ["1.10"], ["1.9"]],
  cran: [["0.9-1"], ["1.0"], ["1.0-0", "1.0.0"], ["1.0.1"], ["1.2-3"], ["1.10"]],
  gem: [
    ["1.0.a.9", "1.0.a9"],
    ["1.0.a10"],
    ["1.0.0.beta"],
    ["1.0.0-java"],
    ["1.0.0.rc1"],
    ["1", "1.0", "1.0.0"],
    ["1.0.1"],
    ["1.10"],
  ],
  golang: [
    ["v0.0.0-20200101000000-abcdefabcdef"],
    ["v1.2.4-0.20191109021931-daa7c04131f5"],
    ["v1.2.4-rc.1", "1.2.4-rc.1"],
    ["v1.2.4", "1.2.4"],
    ["1.21rc2", "1.21.0-rc.2"],
    ["go1.21.0", "v1.21", "1.21"],
    ["1.22.7", "go1.22.7"],
    ["v2.0.0+incompatible", "v2"],
  ],
  hackage: [["1.0"], ["1.0.0"], ["1.0.1"], ["1.0.10"], ["1.1"]],
  hex: [["1.0.0-rc.1"], ["1.0.0"]],
  julia: [["1.2.3-rc1"], ["1.2.3"], ["1.2.3+3"], ["1.2.3+10"], ["1.2.3+a"], ["1.2.4"]],
  maven: [
    ["1-alpha-1"],
    ["1-rc1"],
    ["1-SNAPSHOT"],
    ["1", "1.0.0", "1.0.Final"],
    ["1-sp1"],
    ["1e"],
    ["1.0.1"],
    ["31.1-android"],
    ["31.1-jre"],
  ],
  npm: [
    ["0.9.9"],
    ["1.0.0-alpha"],
    ["1.0.0-alpha.1"],
    ["1.0.0-alpha.beta"],
    ["1.0.0-beta", "v1.0.0-beta+build"],
    ["1.0.0-beta.2"],
    ["1.0.0-beta.11"],
    ["1.0.0-rc.1"],
    ["1", "1.0", "1.0.0", "v1.0.0", "1.0.0+build.7"],
    ["1.0.1"],
    ["1.10.0"],
    ["2024.1.1"],
  ],
  nuget: [
    ["1.0.0-alpha", "1.0-ALPHA+b"],
    ["1.0.0-alpha.2"],
    ["1.0.0-alpha.10"],
    ["1.0.0-beta"],
    ["1", "1.0.0.0", "1.0+build"],
    ["1.0.0.1"],
    ["1.0.1"],
  ],
  opam: [["1.0~beta"], ["1.0"], ["1.0.1"], ["dev"]],
  pub: [["1.0.0-dev.1"], ["1.0.0"], ["1.0.0+1"], ["1.0.0+2"], ["1.0.0+a"], ["1.0.1-dev"]],
  pypi: [
    ["2.0.dev3"],
    ["2.0a1.dev2"],
    ["2.0a1"],
    ["2.0b2"],
    ["2.0rc1"],
    ["2", "2.0", "v2.0.0"],
    ["2.0+local.1"],
    ["2.0.post1", "2.0-1"],
    ["2.10"],
    ["1!0.1"],
  ],
  swift: [["1.0.0-beta"], ["v1.0.0", "1.0.0"]],
  "vscode-extension": [["2024.2.0"], ["2024.10.0"]],
};

/** The sign of a comparison; undefined if there is none. */
function signOf(type: string, a: string, b: string): number | undefined {
  const order = comparePackageVersions(type, a, b);
  return order === undefined ? undefined : Math.sign(order);
}

/** Types in which all texts have a place in one order. */
const total = ["apk", "deb", "rpm"];

describe("comparePackageVersions", () => {
  for (const [type, groups] of Object.entries(ascending)) {
    it(`orders ${type}`, () => {
      const all = groups.flatMap((versions, rank) => versions.map((version) => ({ version, rank })));
      for (const a of all)
        for (const b of all)
          expect(signOf(type, a.version, b.version), `${a.version} and ${b.version}`).toBe(Math.sign(a.rank - b.rank));
    });
  }

  for (const type of total) {
    it(`is an order of ${type} and of whatever stands in its place`, () => {
      const part = fc.constantFrom(
        "0",
        "1",
        "9",
        "09",
        "10",
        ".",
        "-",
        "-r1",
        "_",
        "_rc1",
        "_p",
        "~",
        "^",
        "+",
        ":",
        "a",
        "b2",
      );
      const version = fc.oneof(
        fc.array(part, { maxLength: 7 }).map((parts) => `1${parts.join("")}`),
        fc.string(),
      );
      const compare = (a: string, b: string) => signOf(type, a, b)!;
      fc.assert(
        fc.property(version, version, version, (a, b, c) => {
          expect(compare(a, a)).toBe(0);
          expect(compare(a, b)).toBe(-compare(b, a) + 0);
          const [x, y, z] = [a, b, c].sort(compare) as [string, string, string];
          expect(compare(x, y), `${x} ${y} ${z}`).toBeLessThanOrEqual(0);
          expect(compare(y, z), `${x} ${y} ${z}`).toBeLessThanOrEqual(0);
          expect(compare(x, z), `${x} ${y} ${z}`).toBeLessThanOrEqual(0);
        }),
        { numRuns: 5000 },
      );
    });
  }

  it("knows equal texts alone where the type has no order", () => {
    for (const type of ["", "generic", "github", "constructor"]) {
      expect(comparePackageVersions(type, "1.0", "1.0"), type).toBe(0);
      expect(comparePackageVersions(type, "1.10", "1.9"), type).toBeUndefined();
    }
  });

  it.each([
    ["cargo", "1.2.3.4"],
    ["chrome-extension", "1.2.3.4.5"],
    ["composer", "dev-main"],
    ["composer", `1.0-a${"1".repeat(100)}x`], // in linear time
    ["conda", "1..2"],
    ["cpan", "one"],
    ["cran", "1.0a"],
    ["gem", "1beta"],
    ["golang", "(devel)"],
    ["hackage", "1-2"],
    ["maven", "a1".repeat(1000)],
    ["npm", "01.2.3"],
    ["nuget", "v1.0"],
    ["pypi", "1.0-final-3"],
  ])("%s: %s is not a version", (type, version) => {
    expect(comparePackageVersions(type, version, "1.0.0")).toBeUndefined();
    expect(comparePackageVersions(type, "1.0.0", version)).toBeUndefined();
    expect(comparePackageVersions(type, version, version)).toBe(0);
  });
});
