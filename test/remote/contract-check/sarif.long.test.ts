/** Reports in SARIF, against the JSON schema of the format. */
import type { ValidateFunction } from "ajv";
import { beforeAll, expect, test } from "vitest";
import { formats } from "../../../src/remote/contract-check/report.ts";
import { Results } from "../../../src/remote/contract-check/results.ts";
import { carrier, loadSarifSchema } from "../sarif-schema.ts";

let validate: ValidateFunction | undefined;

beforeAll(() => {
  validate = loadSarifSchema();
}, 60_000);

test("with differences, and without", (context) => {
  if (validate === undefined) return context.skip(`npm does not carry ${carrier}`);
  const results = new Results();
  results.compare("get/created", "GetRepo", 1, 1);
  const logs = [JSON.parse(formats.sarif(results.all))];
  results.compare("lists/total-count", "ListRepos", undefined, "3");
  results.compare("errors/unknown-path", "GET", { httpStatus: 500 }, { httpStatus: 404 });
  logs.push(JSON.parse(formats.sarif(results.all)));
  for (const log of logs) expect(validate(log), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ ...logs[1], runs: [{ ...logs[1].runs[0], tool: {} }] })).toBe(false);
});
