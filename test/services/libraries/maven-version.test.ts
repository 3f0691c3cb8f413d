import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { versionOrder } from "../../../src/services/libraries/version-order.ts";
import { compareAsMaven } from "./comparable-version.ts";
import { compareByKey, expectRising } from "./in-order.ts";
import { mutatedVersions } from "./mutated-versions.ts";

test("the examples that the specification gives", () => {
  const relations = `
    1 < 1.1
    1-snapshot < 1
    1 < 1-sp
    1-foo2 < 1-foo10
    1.foo = 1-foo
    1-foo < 1-1
    1-1 < 1.1
    1.ga = 1-ga
    1-ga = 1-0
    1-0 = 1.0
    1.0 = 1
    1-ga.1 < 1-sp.1
    1-sp-1 < 1-ga-1
    1-a1 = 1-alpha-1
    1.0.0 = 1
    1.final = 1
    1. = 1
    1- = 1
    1.0.0-foo.0.0 = 1-foo
    1.0.0-0.0.0 = 1
    1-1.foo-bar1baz-.1 = 1-1.foo-bar-1-baz-0.1`;
  for (const relation of relations.trim().split("\n")) {
    const [a = "", sign, b = ""] = relation.trim().split(" ");
    const expected = sign === "=" ? 0 : -1;
    expect(compareByKey(Ecosystem.JAVA, a, b), relation).toBe(expected);
    expect(compareAsMaven(a, b), `the comparator of this test: ${relation}`).toBe(expected);
  }
});

test("the order of qualifiers, and of versions as they are met", () => {
  expectRising(Ecosystem.JAVA, [
    "1-alpha-1 1.0.0-alpha1 1.0-a1 1-ALPHA-1",
    "1-alpha.1",
    "1-beta 1.0.beta",
    "1-milestone1 1-m1",
    "1-rc 1-cr",
    "1-rc-2 1-rc2",
    "1-SNAPSHOT 1.0-snapshot",
    "1 1.0 1.0.Final 1.0.0.RELEASE 1-ga",
    "1-sp",
    "1-abc",
    "1-jre",
    "1-0-2",
    "1-1",
    "1-2",
    "1.0.1",
    "1.1",
    "1.5-rc-1",
    "1.5",
    "1.10",
    "20040616",
    "99999999999999999999",
    "100000000000000000000",
  ]);
});

test("what comes before a release is not stable", () => {
  for (const version of ["1", "1.0.Final", "31.1-jre", "1-1", "2.0-sp1", "1.0-incubating"])
    expect(versionOrder(Ecosystem.JAVA, version).isStable, version).toBe(true);
  for (const version of ["1-alpha", "1.0-b2", "1.0.M1", "1.0.0.RC1", "1.0-cr1", "1.0-SNAPSHOT", "1.0-jre-SNAPSHOT"])
    expect(versionOrder(Ecosystem.JAVA, version).isStable, version).toBe(false);
});

/** Maven's own verdicts of the pairs: `<`, `=` or `>` for each. */
const verdicts = readFileSync(new URL("maven-verdicts.txt", import.meta.url), "utf8").replaceAll("\n", "");
const pairs = mutatedVersions(verdicts.length);
const signs: Readonly<Record<string, number>> = { "<": -1, "=": 0, ">": 1 };

test("the comparator of these tests agrees with Maven's verdicts", () => {
  expect(pairs).toHaveLength(20_000);
  const differing = pairs.filter(([a, b], i) => compareAsMaven(a, b) !== signs[verdicts[i]!]);
  expect(differing).toEqual([]);
});

test("keys agree with Maven's verdicts, save where Maven runs in a circle", () => {
  const differing = pairs.filter(([a, b], i) => compareByKey(Ecosystem.JAVA, a, b) !== signs[verdicts[i]!]);
  expect(differing.filter(([a, b]) => circleOf(a, b) === undefined)).toEqual([]);
  expect(circleOf("2.a-M1", "2.0-M1")).toEqual(["2", "2.a-M1", "2.0-M1"]);
  expect(circleOf("1", "2")).toBeUndefined();
});

const jars = ["/usr/share/maven/lib/maven-artifact-3.x.jar", "/usr/share/java/commons-lang3.jar"];
const isMavenHere = jars.every((jar) => existsSync(jar)) && spawnSync("java", ["-version"]).status === 0;
if (!isMavenHere) console.log("maven-version: Maven itself is not asked, Java or its jars are not here");
test.skipIf(!isMavenHere)("the verdicts are Maven's", { timeout: 120_000 }, () => {
  const program = fileURLToPath(new URL("CompareVersions.java", import.meta.url));
  const input = pairs.map(([a, b]) => `${a}\t${b}\n`).join("");
  const options = ["-Dfile.encoding=UTF-8", "-cp", jars.join(":"), program];
  const { stdout, stderr } = spawnSync("java", options, { input, encoding: "utf8" });
  expect(stdout.trim(), stderr).toBe(verdicts);
});

/** Three versions each of which Maven puts before the next, and the last before the first, or as equal; made of two and the beginning of one. */
function circleOf(a: string, b: string): readonly string[] | undefined {
  const [low, high] = compareAsMaven(a, b) < 0 ? [a, b] : [b, a];
  const beginnings = [a, b].flatMap((version) =>
    Array.from({ length: version.length + 1 }, (_, i) => version.slice(0, i)),
  );
  const third = beginnings.find((each) => compareAsMaven(high, each) <= 0 && compareAsMaven(each, low) <= 0);
  return third === undefined || compareAsMaven(a, b) === 0 ? undefined : [third, low, high];
}

test("any text has a place, and a key of bounded size", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(Buffer.byteLength(versionOrder(Ecosystem.JAVA, text).key)).toBeLessThanOrEqual(2048);
    }),
  );
});
