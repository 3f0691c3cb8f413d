/**
 * The test suite of the specification of package URLs (github.com/package-url/purl-spec, its folder `tests`), in the
 * folder that TEST_PURL_SPEC names.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageUrlText, parsePackageUrl } from "../../src/package-url.ts";

interface Case {
  readonly description: string;
  readonly test_type: "parse" | "build" | "validate" | "roundtrip";
  readonly input: string;
  readonly expected_output: { readonly [part: string]: unknown } | string | null;
  readonly expected_failure: boolean;
}

/** The definition of the type says that case counts. */
const contradicted = "git namespace and name should be lowercased. Validate an input purl.";

const folder = process.env.TEST_PURL_SPEC;
if (folder === undefined)
  console.log("package URLs: the cases of their specification are not tried, TEST_PURL_SPEC names no folder");

const files = folder === undefined ? [] : globSync(join(folder, "types/*.json")).sort();
test.skipIf(folder === undefined)("there are cases", () => {
  expect(files.length).toBeGreaterThan(0);
});

for (const file of files) {
  const { tests: all } = JSON.parse(readFileSync(file, "utf8")) as { tests: readonly Case[] };
  const tests = all.filter(({ description }) => description !== contradicted);
  const cases = tests.filter(({ test_type: kind, expected_failure: fails }) => kind === "parse" && !fails);
  test.each(cases.map((each) => [each.input, each.expected_output] as const))("%s is parsed", (input, expected) => {
    const url = parsePackageUrl(input);
    const parts = url && { ...url, qualifiers: Object.fromEntries(url.qualifiers) };
    const { qualifiers, ...others } = expected as { readonly [part: string]: unknown };
    const texts = Object.entries(others).map(([name, value]) => [name, value ?? ""]);
    expect(parts).toEqual({ ...Object.fromEntries(texts), qualifiers: qualifiers ?? {} });
  });
  const texts = tests.filter(({ test_type: kind, expected_failure: fails }) => kind === "validate" && !fails);
  test.each(texts.map((each) => [each.input, each.expected_output] as const))(
    "%s is written canonically",
    (input, expected) => {
      expect(packageUrlText(parsePackageUrl(input)!)).toBe(expected);
    },
  );
}
