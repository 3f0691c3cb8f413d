import { describe, expect, test } from "vitest";
import { parseVers, VersRange } from "../../src/matching/vers.ts";

const contains = (vers: string, version: string) => {
  const range = parseVers(vers);
  return range instanceof VersRange ? range.contains(version) : range;
};

describe("a version range specifier", () => {
  test.each([
    ["vers:maven/<2.17.1", "2.17.0", true],
    ["vers:maven/<2.17.1", "2.17.1", false],
    ["vers:npm/1.2.3|>=2.0.0|<5.0.0", "1.2.3", true],
    ["vers:npm/1.2.3|>=2.0.0|<5.0.0", "1.2.4", false],
    ["vers:npm/1.2.3|>=2.0.0|<5.0.0", "2.0.0", true],
    ["vers:npm/1.2.3|>=2.0.0|<5.0.0", "5.0.0", false],
    ["vers:gem/>=2.2.0|!=2.2.1|<2.3.0", "2.2.1", false],
    ["vers:gem/>=2.2.0|!=2.2.1|<2.3.0", "2.2.2", true],
    ["vers:pypi/<=1.0|>=2.0", "1.0.0", true],
    ["vers:pypi/<=1.0|>=2.0", "1.5", false],
    ["vers:pypi/<=1.0|>=2.0", "3", true],
    ["vers:pypi/!=1.0", "1.0.0", false],
    ["vers:pypi/!=1.0", "1.1", true],
    ["vers:pypi/1.0", "1.1", false],
    ["vers:pypi/>1.0", "1.0", false],
    ["vers:deb/<1:2.0", "3.0", true],
    ["vers:semver/>=1", "1.0.0", true],
    ["vers:npm/*", "anything", true],
    ["vers:all/*", "anything", true],
    ["vers:none/*", "anything", false],
    ["vers:npm/>1", "latest", undefined],
    ["vers:generic/1.0|2.0", "2.0", true],
    ["vers:generic/1.0|2.0", "2.00", false],
    ["vers:deb/1.0%2B1", "1.0+1", true],
    ["vers:deb/1.0+1", "1.0+1", true],
  ])("%s has %s: %j", (vers, version, expected) => {
    expect(contains(vers, version)).toBe(expected);
  });

  test("names its type", () => {
    expect(parseVers("vers:maven/<2")).toMatchObject({ type: "maven" });
    expect(parseVers("vers:all/*")).toMatchObject({ type: "" });
  });

  test.each([
    ["maven/<2", "does not begin with vers: and a type in lower case"],
    ["vers:Maven/<2", "does not begin with vers: and a type in lower case"],
    ["vers:npm/>=1| <2", "has white space"],
    ["vers:npm/", "has no constraints"],
    ["vers:npm/|1", "has an empty constraint"],
    ["vers:npm/1||2", "has an empty constraint"],
    ["vers:npm/1|>=", "has an empty constraint"],
    ["vers:npm/1|*", "has an asterisk beside other constraints"],
    ["vers:all/1", "has an asterisk beside other constraints"],
    ["vers:npm/1.0%2G0", "has percent-encoding that is not valid or not canonical"],
    ["vers:deb/1%3a1", "has percent-encoding that is not valid or not canonical"],
    ["vers:deb/1%FF", "has percent-encoding that is not valid or not canonical"],
    ["vers:deb/=1", "has percent-encoding that is not valid or not canonical"],
    ["vers:npm/latest", "has a version that is not one of its type"],
    ["vers:generic/<1", "has a type whose versions have no order"],
    ["vers:npm/2|1", "has constraints that are not sorted by version"],
    ["vers:generic/2|1", "has constraints that are not sorted by version"],
    ["vers:pypi/1.0|1.0.0", "has one version twice"],
    ["vers:generic/1|1", "has one version twice"],
    ["vers:npm/>1|>2", "has bounds that do not alternate"],
    ["vers:npm/<1|<2", "has bounds that do not alternate"],
    ["vers:npm/>1|2", "has bounds that do not alternate"],
    ["vers:npm/1|<2", "has bounds that do not alternate"],
  ])("%s is none: it %s", (vers, problem) => {
    expect(parseVers(vers)).toBe(problem);
  });
});
