/** Reports in SARIF, against the JSON schema of the format, which a package of npm carries. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import { beforeAll, expect, test } from "vitest";
import { formats } from "../../../src/remote/contract-check/report.ts";
import { Results } from "../../../src/remote/contract-check/results.ts";

const carrier = "@microsoft/jest-sarif@1.0.0-beta.0";
let validate: ValidateFunction | undefined;

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), "platform-sarif-"));
  try {
    const { status, stdout } = spawnSync("npm", ["pack", "--silent", carrier], { cwd: folder, encoding: "utf8" });
    if (status !== 0) return;
    execFileSync("tar", ["xzf", stdout.trim()], { cwd: folder });
    const path = join(folder, "package/lib/schemas/sarif-2.1.0-rtm.5.json");
    const ajv = new Ajv({ strict: false, unicodeRegExp: false });
    addFormats.default(ajv);
    // Of draft 4 the schema uses nothing that later drafts read otherwise, but for the name of its id.
    const { $schema: _, id: __, ...schema } = JSON.parse(readFileSync(path, "utf8"));
    validate = ajv.compile(schema);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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
