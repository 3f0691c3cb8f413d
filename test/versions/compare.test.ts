import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparePackageVersions } from "../../src/versions/compare.ts";
import { ascending } from "./ascending.ts";

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
