/**
 * `npx platform-api` in a checkout, and the launcher behind it, which finds the checkout's own Node when the one on the
 * PATH is too old.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { cleanEnvironment, repository, settingsIn, temporaryFolder } from "./platform-process.ts";

/** The PATH of somebody who has not run an npm script: without the checkout's programs. */
const path = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules") && !folder.includes("node-gyp-bin"))
  .join(delimiter);
const env = { ...cleanEnvironment(), PATH: path };
const launcher = join(repository, "bin/platform.js");

test.each(["platform", "platform-api"])("npx %s runs the checkout's program", async (program) => {
  const startMs = performance.now();
  const { stdout } = await promisify(execFile)("npx", [program, "token", "--help"], { cwd: repository, env });
  console.log(`npx ${program} token --help took ${Math.round(performance.now() - startMs)} ms`);
  expect(stdout).toMatch(/^Usage: platform token/);
});

test("a checkout runs its sources, whatever has been built; a package without sources what was built", async () => {
  const folder = await temporaryFolder();
  for (const [path, content] of Object.entries({
    "bin/platform.js": readFileSync(launcher, "utf8"),
    "package.json": '{"type":"module"}',
    "dist/program/main.js": 'console.log("built")',
    "src/main.ts": 'console.log("sources" satisfies string)',
  })) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const run = () => execFileSync(process.execPath, [join(folder, "bin/platform.js")], { encoding: "utf8" });
  expect(run()).toBe("sources\n");
  rmSync(join(folder, "src"), { recursive: true });
  expect(run()).toBe("built\n");
});

const old = oldNode();
if (old === undefined) console.warn("the launcher is not tested under an older Node: there is none on the PATH");

describe.skipIf(old === undefined)("under an older Node", () => {
  test("exit status and output are the program's", async () => {
    const outcome = await promisify(execFile)(old!, [launcher, "unheard-of"], { env }).catch((error) => error);
    expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: "error: unknown command 'unheard-of'\n" });
  });

  test.each(["SIGTERM", "SIGINT"] as const)("%s reaches the server, which stops politely", async (signal) => {
    const { serve } = settingsIn(await temporaryFolder());
    const child = spawn(old!, [launcher, "serve", ...serve], { env, stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void child.kill("SIGTERM"));
    await once(child.stdout, "data");
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

/** The first Node of the PATH, when it is older than what the program needs and the checkout has one of its own. */
function oldNode(): string | undefined {
  const found = path
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .find(existsSync);
  if (found === undefined || !existsSync(join(repository, "node_modules/node/bin/node"))) return undefined;
  const version = execFileSync(found, ["--version"], { encoding: "utf8" });
  return Number(/^v(\d+)/.exec(version)?.[1]) < 24 ? found : undefined;
}
