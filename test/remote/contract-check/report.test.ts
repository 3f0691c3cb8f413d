/** The report of a check in every format. */
import { existsSync } from "node:fs";
import { XMLParser } from "fast-xml-parser";
import { expect, test } from "vitest";
import { formats } from "../../../src/remote/contract-check/report.ts";
import { Results } from "../../../src/remote/contract-check/results.ts";

const results = new Results();
results.compare("lists/total-count", "ListRepos", "3", "3");
results.compare("lists/total-count", "ListRepos", undefined, "3");
results.compare("lists/total-count", "ListRepos", "later", "3");
results.skip("create/answer", "CreateIdentityProvider", "only organisations have them");
results.compare("get/created", "GetRepo", { name: 'a<b>&"' }, { name: 'a<b>&"' });
const rule = "totalCount is the number of all matching results, on every page.";

test("as text has the differences, each with the first value that differs", () => {
  expect(formats.text(results.all)).toBe(
    `lists/total-count  ListRepos\n  rule:     ${rule}\n  expected: "3"\n  got:      nothing\n\n` +
      "3 checks, 1 difference, 1 skipped\n",
  );
});

test("as JSON has every check", () => {
  expect(JSON.parse(formats.json(results.all))).toEqual([
    expect.objectContaining({ rule: "create/answer", outcome: "skipped", reason: "only organisations have them" }),
    expect.objectContaining({ rule: "get/created", operation: "GetRepo", outcome: "passed", count: 1 }),
    { rule: "lists/total-count", operation: "ListRepos", outcome: "differs", count: 3, expected: "3", text: rule },
  ]);
});

test("as JUnit", () => {
  const { testsuite } = new XMLParser({ ignoreAttributes: false }).parse(formats.junit(results.all));
  expect(testsuite).toMatchObject({ "@_tests": "3", "@_failures": "1", "@_skipped": "1" });
  expect(testsuite.testcase).toEqual([
    expect.objectContaining({ "@_name": "CreateIdentityProvider", skipped: expect.anything() }),
    { "@_classname": "get/created", "@_name": "GetRepo" },
    expect.objectContaining({
      "@_classname": "lists/total-count",
      failure: { "@_message": rule, "#text": expect.stringContaining('expected: "3"') },
    }),
  ]);
});

test("as TAP", () => {
  expect(formats.tap(results.all)).toBe(
    [
      "TAP version 14",
      "1..3",
      "ok 1 - create/answer CreateIdentityProvider # SKIP only organisations have them",
      "ok 2 - get/created GetRepo",
      "not ok 3 - lists/total-count ListRepos",
      `# rule:     ${rule}`,
      '# expected: "3"',
      "# got:      nothing",
      "",
    ].join("\n"),
  );
});

test("as SARIF has the rules and the differences, with the operation", () => {
  const { version, runs } = JSON.parse(formats.sarif(results.all));
  expect(version).toBe("2.1.0");
  const [{ tool, results: found }] = runs;
  const ids = tool.driver.rules.map(({ id }: { id: string }) => id);
  expect(ids).toEqual(["create/answer", "get/created", "lists/total-count"]);
  expect(tool.driver.rules[2].shortDescription.text).toBe(rule);
  expect(found).toEqual([
    {
      ruleId: "lists/total-count",
      ruleIndex: 2,
      level: "error",
      message: { text: `rule:     ${rule}\nexpected: "3"\ngot:      nothing` },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: "proto/platform/registry/v2/repos.proto" },
            region: { startLine: 1 },
          },
          logicalLocations: [
            {
              name: "ListRepos",
              fullyQualifiedName: "platform.registry.v2.ReposService.ListRepos",
              kind: "function",
            },
          ],
        },
      ],
      partialFingerprints: { primaryLocationLineHash: expect.stringMatching(/^[0-9a-f]{16}$/) },
    },
  ]);
});

test("as SARIF, differences of requests that are none of a method have a file too, and keep their fingerprints", () => {
  const twice = ["errors/unknown-path", "errors/wrong-verb"].map((id) => {
    const one = new Results();
    one.compare(id as "errors/unknown-path", "GET", 1, 2);
    return [0, 1].map(() => JSON.parse(formats.sarif(one.all)).runs[0].results[0]);
  });
  for (const [first, second] of twice) expect(second).toEqual(first);
  const [[path], [verb]] = twice as [[{ locations: unknown }], [{ locations: unknown }]];
  expect(path).not.toEqual(verb);
  const file = (uri: string) => existsSync(new URL(`../../../${uri}`, import.meta.url));
  const [{ physicalLocation }] = path.locations as [{ physicalLocation: { artifactLocation: { uri: string } } }];
  expect(file(physicalLocation.artifactLocation.uri)).toBe(true);
});
