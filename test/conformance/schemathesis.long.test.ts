/**
 * Schemathesis, https://schemathesis.readthedocs.io, which makes requests from the OpenAPI document that the server
 * publishes, and holds the answers against it.
 */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { makeRepo } from "./fixtures.ts";
import { onOneServer } from "./platform.ts";

const python = process.env.TEST_PYTHON;
const program = python === undefined ? undefined : join(dirname(python), "schemathesis");

/** Requests for each operation. */
const examples = 10;

const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

async function isInstalled(): Promise<boolean> {
  if (program === undefined) return false;
  return promisify(execFile)(program, ["--version"]).then(
    () => true,
    () => false,
  );
}

onOneServer("requests that the OpenAPI document allows", (platform) => {
  test("are answered as it says, and never by a failure of the server", { timeout: 900_000 }, async ({ skip }) => {
    if (!(await isInstalled())) {
      console.log("skipped: schemathesis is not installed beside the Python that TEST_PYTHON names");
      skip();
    }
    await makeRepo(platform(), platform().root);
    const { stdout } = await promisify(execFile)(
      program!,
      [
        "run",
        `${platform().baseUrl}/openapi.json`,
        ...["--header", `Authorization: Bearer ${platform().admin}`],
        ...["--checks", checks.join(",")],
        ...["--phases", "examples,fuzzing", "--max-examples", String(examples)],
        ...["--seed", "1", "--workers", "2", "--no-color"],
      ],
      { maxBuffer: 64 * 1024 * 1024 },
    ).catch((error: { stdout: string }) => error); // it exits with 1 when it finds something
    const [, generated = "0", passed = "none"] = /(\d+) generated, (\d+) passed/.exec(stdout) ?? [];
    console.log(`schemathesis: ${generated} requests, ${passed} passed`);
    expect(passed, stdout.slice(-8000)).toBe(generated);
    expect(Number(generated)).toBeGreaterThan(examples * 60);
  });
});
