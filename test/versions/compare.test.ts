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
  npm: [
    ["0.9.9"],
    ["1.0.0-alpha"],
    ["1.0.0-alpha.1"],
    ["1.0.0-beta", "v1.0.0-beta+build"],
    ["1.0.0-rc.1", "1.0.0rc1"],
    ["1", "1.0", "1.0.0", "v1.0.0", "1.0.0+build.7", "1.0.0.Final"],
    ["1.0.0.post1"],
    ["1.0.1"],
    ["1.2"],
    ["1.10"],
    ["2024.1.1"],
  ],
};

describe("comparePackageVersions", () => {
  for (const [type, groups] of Object.entries(ascending)) {
    it(`orders ${type}`, () => {
      const all = groups.flatMap((versions, rank) => versions.map((version) => ({ version, rank })));
      for (const a of all)
        for (const b of all)
          expect(Math.sign(comparePackageVersions(type, a.version, b.version)), `${a.version} and ${b.version}`).toBe(
            Math.sign(a.rank - b.rank),
          );
    });

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
      const compare = (a: string, b: string) => Math.sign(comparePackageVersions(type, a, b));
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

  it("takes a kind that it does not know for release numbers", () => {
    expect(comparePackageVersions("", "1.10", "1.9")).toBeGreaterThan(0);
    expect(comparePackageVersions("constructor", "1.0-rc1", "1.0")).toBeLessThan(0);
  });
});
