/** The examples of tests of clients, run as they are in a folder of their own. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { cleanEnvironment, repository, temporaryFolder } from "../cli/platform-process.ts";

const vitest = join(repository, "node_modules/vitest");

/** A project that has the examples, Vitest, and this checkout as its dependency. */
async function project(): Promise<string> {
  const folder = await temporaryFolder();
  cpSync(join(repository, "examples/contract-testing"), folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const dependency = join(folder, "node_modules/platform-api");
  mkdirSync(dependency, { recursive: true });
  const exports = { "./testing": "./testing.js" };
  writeFileSync(join(dependency, "package.json"), JSON.stringify({ name: "platform-api", type: "module", exports }));
  const source = pathToFileURL(join(repository, "src/testing/index.ts")).href;
  writeFileSync(join(dependency, "testing.js"), `export * from ${JSON.stringify(source)};\n`);
  symlinkSync(vitest, join(folder, "node_modules/vitest"));
  return folder;
}

/** A test that does not stop its stand-in. */
const careless = `
import { writeFileSync } from "node:fs";
import { startPlatform } from "platform-api/testing";
import { test } from "vitest";
test("starts", async () => writeFileSync("url", (await startPlatform()).baseUrl));
`;

test.each(["forks", "threads"])("a stand-in ends with a pool of %s that does not stop it", async (pool) => {
  const folder = await project();
  writeFileSync(join(folder, "careless.test.js"), careless);
  const { NODE_TEST_CONTEXT: _context, VITEST: _vitest, ...env } = cleanEnvironment();
  const args = [join(vitest, "vitest.mjs"), "run", "--testTimeout", "60000", "--pool", pool, "careless.test.js"];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: "utf8" });
  expect(status, stdout).toBe(0);
  const url = readFileSync(join(folder, "url"), "utf8");
  await expect.poll(() => fetch(url).catch((error) => error.message), { timeout: 10_000 }).toBe("fetch failed");
});

test.each([
  ["node:test", ["--test", "repos.node-test.js"], /pass 2/],
  ["Vitest", [join(vitest, "vitest.mjs"), "run", "repos.test.js"], /2 passed/],
])("%s", async (_, args, passed) => {
  const { NODE_TEST_CONTEXT: _context, VITEST: _vitest, ...env } = cleanEnvironment();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: await project(),
    env: { ...env, NO_COLOR: "1" },
    encoding: "utf8",
  });
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(passed);
});
