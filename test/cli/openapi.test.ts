/** `platform openapi`. */
import { expect, test } from "vitest";
import { readOpenApi } from "../../src/app/index.ts";
import { runHere } from "./run-here.ts";

test.each([
  [[], "json"],
  [["--format", "json", "--version", "v2"], "json"],
  [["--format", "yaml"], "yaml"],
] as const)("%j prints the document", async (options, format) => {
  const { code, stdout, stderr } = await runHere(["openapi", ...options]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toBe(await readOpenApi("v2", format));
});

test("a version that does not exist is refused", async () => {
  const { code, stderr } = await runHere(["openapi", "--version", "v9"]);
  expect(code).toBe(2);
  expect(stderr).toContain("Allowed choices are v1, v2.");
});
