import { describe, expect, test } from "vitest";
import { ListedVersions } from "../../src/matching/listed-versions.ts";
import { parsePackageVersion } from "../../src/versions/index.ts";
import { ascending } from "../versions/ascending.ts";

const isListed = (versions: string[], type: string, version: string) =>
  new ListedVersions(versions, type).has(version, parsePackageVersion(type, version));

describe("listed versions", () => {
  test.each([
    ["pypi", ["1.0"], "1.0.0", true],
    ["pypi", ["1.0"], "1.0.1", false],
    ["pypi", ["1.0rc1"], "1.0-RC.1", true],
    ["npm", ["1.0.0"], "1.0.0+build.7", true],
    ["npm", ["1.0.0"], "10.0.0", false],
    ["deb", ["1.0-0"], "0:1.0", true],
    ["generic", ["1.0"], "1.0", true],
    ["generic", ["1.0"], "1.0.0", false],
    // Neither is a version of its type.
    ["pypi", ["one"], "one", true],
    ["pypi", ["one"], "two", false],
    ["pypi", [], "1.0", false],
  ])("of %s %j have %s: %j", (type, versions, version, expected) => {
    expect(isListed(versions, type, version)).toBe(expected);
  });

  for (const [type, groups] of Object.entries(ascending)) {
    test(`of ${type} have what is equal, and nothing else`, () => {
      for (const [i, equal] of groups.entries()) {
        for (const version of equal) {
          expect(
            equal.filter((each) => !isListed([each], type, version)),
            version,
          ).toEqual([]);
          const others = groups.filter((_, other) => other !== i).flat();
          expect(isListed(others, type, version), version).toBe(false);
        }
      }
    });
  }
});
