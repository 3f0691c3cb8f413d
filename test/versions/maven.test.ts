import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { comparePackageVersions } from "../../src/versions/compare.ts";
import { versionOrder } from "../../src/versions/order.ts";
import { compareByKey, expectRising } from "./in-order.ts";
import { mutatedVersions } from "./mutated-versions.ts";

const compareMavenVersions = (a: string, b: string) => comparePackageVersions("maven", a, b)!;

test("the examples of the specification", () => {
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
    expect(compareByKey("maven", a, b), relation).toBe(expected);
    expect(compareMavenVersions(a, b), relation).toBe(expected);
  }
});

test("the order of qualifiers and of common versions", () => {
  expectRising("maven", [
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

test("pre-releases and snapshots are not stable", () => {
  for (const version of ["1", "1.0.Final", "31.1-jre", "1-1", "2.0-sp1", "1.0-incubating"])
    expect(versionOrder("maven", version).isStable, version).toBe(true);
  for (const version of ["1-alpha", "1.0-b2", "1.0.M1", "1.0.0.RC1", "1.0-cr1", "1.0-SNAPSHOT", "1.0-jre-SNAPSHOT"])
    expect(versionOrder("maven", version).isStable, version).toBe(false);
});

/** Results of Maven itself for the pairs: `<`, `=` or `>` for each. */
const verdicts = readFileSync(new URL("maven-verdicts.txt", import.meta.url), "utf8").replaceAll("\n", "");
const pairs = mutatedVersions(verdicts.length);
const signs: Readonly<Record<string, number>> = { "<": -1, "=": 0, ">": 1 };

test("the comparison agrees with Maven", () => {
  expect(pairs).toHaveLength(20_000);
  const differing = pairs.filter(([a, b], i) => compareMavenVersions(a, b) !== signs[verdicts[i]!]);
  expect(differing).toEqual([]);
});

test("keys agree with Maven, except where Maven's comparison is not transitive", () => {
  const differing = pairs.filter(([a, b], i) => compareByKey("maven", a, b) !== signs[verdicts[i]!]);
  expect(differing.filter(([a, b]) => cycleOf(a, b) === undefined)).toEqual([]);
  expect(cycleOf("2.a-M1", "2.0-M1")).toEqual(["2", "2.a-M1", "2.0-M1"]);
  expect(cycleOf("1", "2")).toBeUndefined();
});

const jars = ["/usr/share/maven/lib/maven-artifact-3.x.jar", "/usr/share/java/commons-lang3.jar"];
const isMavenHere = jars.every((jar) => existsSync(jar)) && spawnSync("java", ["-version"]).status === 0;
if (!isMavenHere) console.log("maven-version: skipped the comparison with Maven itself: no Java or no jars");
test.skipIf(!isMavenHere)("the recorded results are those of the installed Maven", { timeout: 120_000 }, () => {
  const program = fileURLToPath(new URL("CompareVersions.java", import.meta.url));
  const input = pairs.map(([a, b]) => `${a}\t${b}\n`).join("");
  const options = ["-Dfile.encoding=UTF-8", "-cp", jars.join(":"), program];
  const { stdout, stderr } = spawnSync("java", options, { input, encoding: "utf8" });
  expect(stdout.trim(), stderr).toBe(verdicts);
});

/**
 * A cycle of three versions: Maven orders each before or equal to the next, and the last before the first. The third is
 * a prefix of `a` or `b`. undefined if there is none.
 */
function cycleOf(a: string, b: string): readonly string[] | undefined {
  const [low, high] = compareMavenVersions(a, b) < 0 ? [a, b] : [b, a];
  const prefixes = [a, b].flatMap((version) =>
    Array.from({ length: version.length + 1 }, (_, i) => version.slice(0, i)),
  );
  const third = prefixes.find((each) => compareMavenVersions(high, each) <= 0 && compareMavenVersions(each, low) <= 0);
  return third === undefined || compareMavenVersions(a, b) === 0 ? undefined : [third, low, high];
}

test("any text has a key of bounded size", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(Buffer.byteLength(versionOrder("maven", text).key)).toBeLessThanOrEqual(2048);
    }),
  );
});
