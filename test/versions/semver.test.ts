import fc from "fast-check";
import reference from "semver";
import { expect, test } from "vitest";
import { versionOrder } from "../../src/versions/order.ts";
import { semverOrder } from "../../src/versions/semver.ts";
import { compareByKey, expectRising } from "./in-order.ts";

test("the examples of Semantic Versioning", () => {
  expectRising("semver", [
    "0.0.0-0",
    "0.0.0",
    "1.0.0--",
    "1.0.0-alpha 1.0.0-alpha+build.1",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-alpha-1",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-beta.2a",
    "1.0.0-rc.1",
    "1.0.0 1.0.0+20130313144700 1.0.0+exp.sha.5114f85",
    "2.0.0",
    "2.1.0",
    "2.1.1",
    "2.10.0",
    "18446744073709551616.0.0",
    "18446744073709551617.0.0",
  ]);
});

test("only releases are stable", () => {
  expect(versionOrder("semver", "1.0.0+build").isStable).toBe(true);
  for (const version of ["1.0.0-0", "1.0.0-rc.1", "1.0", "latest"])
    expect(versionOrder("semver", version).isStable, version).toBe(false);
});

const number = fc.oneof(fc.nat(12), fc.nat(2 ** 31)).map(String);
const identifier = fc.oneof(number, fc.stringMatching(/^[0-9]{0,2}[A-Za-z-][0-9A-Za-z-]{0,3}$/));
const identifiers = fc.array(identifier, { minLength: 1, maxLength: 3 }).map((list) => list.join("."));
const version = fc
  .tuple(
    fc.array(number, { minLength: 3, maxLength: 3 }).map((release) => release.join(".")),
    fc.option(identifiers, { nil: undefined }),
    fc.option(identifiers, { nil: undefined }),
  )
  .map(([release, pre, build]) => release + (pre ? `-${pre}` : "") + (build ? `+${build}` : ""));

test("keys are in the order of an independent implementation", () => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(compareByKey("semver", a, b)).toBe(reference.compare(a, b));
    }),
    { numRuns: 2000 },
  );
});

test("a text is a version if an independent implementation accepts it", () => {
  const text = fc.oneof(version, fc.stringMatching(/^[0-9a.+-]{0,9}$/), fc.string({ maxLength: 8 }));
  fc.assert(
    fc.property(text, (candidate) => {
      fc.pre(!/^\s|^[v=]|\s$/.test(candidate)); // the reference accepts these
      expect(semverOrder(candidate) !== undefined).toBe(reference.valid(candidate) !== null);
    }),
    { numRuns: 2000 },
  );
});
