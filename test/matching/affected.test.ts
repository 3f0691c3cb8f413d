import { describe, expect, test } from "vitest";
import { AffectedPackage, evaluateOsv } from "../../src/matching/affected.ts";
import { type Component, componentKeys, componentOf } from "../../src/matching/component.ts";
import type { AffectedFact, AffectedRange, RangeEvent } from "../../src/matching/facts.ts";

const range = (...events: RangeEvent[]): AffectedRange => ({ kind: "ECOSYSTEM", events });
const from = (introduced: string, fixed: string) => range({ introduced }, { fixed });
const all = range({ introduced: "0" });

describe("facts about one package", () => {
  const facts = [{ ranges: [from("1.0.0", "1.4.2"), from("2.0.0", "2.1.0")], versions: ["0.9.0"] }];

  test.each([
    ["1.0.0", { isAffected: true, fixedVersion: "1.4.2" }],
    ["2.0.5", { isAffected: true, fixedVersion: "2.1.0" }],
    ["1.4.2", { isAffected: false }],
    ["3.0.0", { isAffected: false }],
    // It is listed only: the next fix of any range.
    ["0.9.0", { isAffected: true, fixedVersion: "1.4.2" }],
    ["latest", { isAffected: undefined, reason: "has a version that is not one of its type" }],
  ])("say of %s: %j", (version, expected) => {
    expect(evaluateOsv(facts, "npm", version)).toEqual(expected);
  });

  test("know no fix that is affected itself", () => {
    const twice = [{ ranges: [from("0", "1.2.0"), from("0", "1.3.0")], versions: [] }];
    expect(evaluateOsv(twice, "npm", "1.0.0")).toEqual({ isAffected: true, fixedVersion: "1.3.0" });
    const forever = [{ ranges: [from("0", "1.2.0"), all], versions: [] }];
    expect(evaluateOsv(forever, "npm", "1.0.0")).toEqual({ isAffected: true });
    const listed = [{ ranges: [from("0", "1.2.0")], versions: ["1.2.0"] }];
    expect(evaluateOsv(listed, "npm", "1.0.0")).toEqual({ isAffected: true });
  });

  test("know no fix after a last affected version", () => {
    const last = [{ ranges: [range({ introduced: "0" }, { last_affected: "1.2.0" })], versions: [] }];
    expect(evaluateOsv(last, "npm", "1.2.0")).toEqual({ isAffected: true });
  });

  test("hold together", () => {
    const two = [
      { ranges: [from("1.0.0", "1.5.0")], versions: [] },
      { ranges: [from("2.0.0", "2.5.0")], versions: [] },
    ];
    expect(evaluateOsv(two, "npm", "2.1.0")).toEqual({ isAffected: true, fixedVersion: "2.5.0" });
    expect(evaluateOsv([], "npm", "2.1.0")).toEqual({ isAffected: false });
  });

  test("match although another range cannot be compared", () => {
    const some = [{ ranges: [from("0", "one"), from("0", "2.0.0")], versions: [] }];
    expect(evaluateOsv(some, "npm", "1.0.0")).toEqual({ isAffected: true, fixedVersion: "2.0.0" });
    expect(evaluateOsv(some, "npm", "2.0.0")).toEqual({
      isAffected: undefined,
      reason: "is compared with a version that is not one of its type",
    });
  });

  test("of a type without order match exact lists only", () => {
    const some = [{ ranges: [from("0", "2")], versions: ["1"] }];
    expect(evaluateOsv(some, "generic", "1")).toEqual({ isAffected: true });
    expect(evaluateOsv(some, "generic", "3")).toEqual({
      isAffected: undefined,
      reason: "has a type whose versions have no order",
    });
  });
});

describe("a package of a distribution", () => {
  const openssl = { key: "pkg:deb/debian/openssl", versions: [] };
  const inRelease = (distro: string, fixed: string | undefined, isSource?: boolean): AffectedFact => ({
    ...openssl,
    distro,
    isSource,
    ranges: [fixed === undefined ? all : from("0", fixed)],
  });
  const evaluate = (facts: readonly AffectedFact[], purl: string) =>
    new AffectedPackage(facts).evaluate(componentKeys(componentOf(purl) as Component));

  test("is found by its source package, at the version of that one", () => {
    const facts = [inRelease("debian-12", "3.0.11-1", true)];
    const binary = "pkg:deb/debian/libssl3@1:9?distro=debian-12.5&upstream=openssl";
    expect(evaluate(facts, `${binary}%403.0.10-1`)).toEqual({ isAffected: true, fixedVersion: "3.0.11-1" });
    expect(evaluate(facts, `${binary}%403.0.11-1`)).toEqual({ isAffected: false });
    expect(evaluate(facts, "pkg:deb/debian/openssl@3.0.10-1?distro=debian-12")).toMatchObject({ isAffected: true });
  });

  test("is not its source package, nor the reverse", () => {
    const purl = "pkg:deb/debian/openssl@3?distro=debian-12&upstream=other";
    expect(evaluate([inRelease("", undefined, true)], purl)).toBeUndefined();
    expect(evaluate([inRelease("", undefined, false)], purl)).toEqual({ isAffected: true });
    expect(evaluate([inRelease("", undefined)], purl)).toEqual({ isAffected: true });
    const built = "pkg:deb/debian/libssl3@3?upstream=openssl";
    expect(evaluate([inRelease("", undefined, false)], built)).toBeUndefined();
    expect(evaluate([inRelease("", undefined)], built)).toEqual({ isAffected: true });
  });

  test("meets facts about its release alone", () => {
    const facts = [inRelease("debian-11", "1.1", true), inRelease("debian-12", "3.0", true)];
    const at = (distro: string) => evaluate(facts, `pkg:deb/debian/openssl@2.0?distro=${distro}`);
    expect(at("debian-11")).toEqual({ isAffected: false });
    expect(at("bullseye")).toEqual({ isAffected: false });
    expect(at("debian-12.5")).toEqual({ isAffected: true, fixedVersion: "3.0" });
    expect(at("debian-13")).toBeUndefined();
  });

  test("without release gets what all releases have in common", () => {
    const facts = [inRelease("debian-11", "1.1", true), inRelease("debian-12", "3.0", true)];
    const at = (version: string, some = facts) => evaluate(some, `pkg:deb/debian/openssl@${version}`);
    expect(at("1.0")).toEqual({ isAffected: true });
    expect(at("3.0")).toEqual({ isAffected: false });
    expect(at("2.0")).toEqual({
      isAffected: undefined,
      reason: "names no release, and releases of its distribution differ",
    });
    expect(at("1.0", [inRelease("debian-11", "2", true), inRelease("debian-12", "2", true)])).toEqual({
      isAffected: true,
      fixedVersion: "2",
    });
  });

  test("is evaluated alike each time", () => {
    const compiled = new AffectedPackage([inRelease("debian-12", "3.0", true)]);
    const keys = componentKeys(componentOf("pkg:deb/debian/openssl@2.0?distro=debian-12") as Component);
    expect(compiled.evaluate(keys)).toEqual(compiled.evaluate(keys));
    expect(compiled.evaluate([])).toBeUndefined();
  });
});
