/** The report of a check in every format. */
import { existsSync } from "node:fs";
import { XMLParser } from "fast-xml-parser";
import { describe, expect, test } from "vitest";
import { formats } from "../../../src/remote/contract-check/report.ts";
import { type Result, Results } from "../../../src/remote/contract-check/results.ts";

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

describe("notes and known differences", () => {
  const found = new Results({ baseline: new Set(["get/created GetRepo"]) });
  found.compare("get/created", "GetRepo", 1, 2);
  found.compare("methods/served", "Explain", ["rest"], ["rest", "grpc"]);
  found.note("inventory/served", { methods: 9, served: { REST: 9, gRPC: 8 }, missing: ["Explain (only over REST)"] });
  found.note("answers/unknown-fields", ["a.v1.B.c"]);
  const inventory = "serves, of 9 methods, 9 over REST, 8 over gRPC; missing: Explain (only over REST)";
  const unknown = "beyond this version of the contract: a.v1.B.c";

  test("as text are a line each, and a number", () => {
    const summary = "2 checks, 1 difference, 1 known, 0 skipped";
    expect(formats.text(found.all)).toBe(`${inventory}\n${unknown}\n${summary}\n`);
  });

  test("as JSON", () => {
    expect(JSON.parse(formats.json(found.all)).map(({ rule, outcome }: Result) => `${rule} ${outcome}`)).toEqual([
      "inventory/served noted",
      "methods/served differs",
      "answers/unknown-fields noted",
      "get/created known",
    ]);
  });

  test("as TAP are comments, and to be done", () => {
    const [, plan, ...lines] = formats.tap(found.all).split("\n");
    expect([plan, ...lines.slice(0, 3)]).toEqual([
      "1..2",
      `# ${inventory}`,
      `# ${unknown}`,
      "not ok 1 - methods/served Explain",
    ]);
    expect(lines).toContain("not ok 2 - get/created GetRepo # TODO known");
  });

  test("as JUnit are output, and skipped", () => {
    const { testsuite } = new XMLParser({ ignoreAttributes: false }).parse(formats.junit(found.all));
    expect(testsuite).toMatchObject({ "@_tests": "2", "@_failures": "1", "@_skipped": "1" });
    expect(testsuite["system-out"]).toBe(`${inventory}\n${unknown}`);
  });

  test("as SARIF are suppressed", () => {
    const [{ tool, results: listed }] = JSON.parse(formats.sarif(found.all)).runs;
    expect(tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual(["methods/served", "get/created"]);
    expect(listed.map(({ suppressions }: { suppressions?: unknown[] }) => suppressions?.length)).toEqual([
      undefined,
      1,
    ]);
  });
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
