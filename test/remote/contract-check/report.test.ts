/** The report of a check in every format. */
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
