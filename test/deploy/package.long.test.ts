/** The package of the server as it is published: installed from its archive into an empty folder, and used there. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cleanEnvironment, type Outcome, repository } from "../cli/platform-process.ts";
import { installPackage, olderNode } from "./installed-package.ts";

let installed: Awaited<ReturnType<typeof installPackage>>;
const inRoot = (...path: string[]) => join(installed.root, ...path);
/** Programs are found as `npx` finds them, and run by the Node that runs this. */
const env = () => ({
  ...cleanEnvironment(),
  HOME: inRoot("home"),
  PATH: [inRoot("node_modules/.bin"), dirname(process.execPath), process.env.PATH].join(delimiter),
});

beforeAll(async () => {
  installed = await installPackage("platform-api");
}, 300_000);
afterAll(() => installed.remove());

/** Starts a program of the package in the folder that it was installed into, with a process group of its own. */
function start(program: string, args: readonly string[], more: Record<string, string> = {}) {
  const child = spawn(program, args, {
    cwd: installed.root,
    env: { ...env(), ...more },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) signalGroup(child, "SIGKILL");
  });
  return child;
}

/** Sends a signal to a program and to what it started, as a terminal does: npx does not pass signals on. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  process.kill(-child.pid!, signal);
}

async function run(program: string, args: readonly string[], more: Record<string, string> = {}): Promise<Outcome> {
  const child = start(program, args, more);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, stdout, stderr };
}

test("the archive has at most 3.5 MB, the bill of materials, and nothing that only a checkout uses", () => {
  const { size } = statSync(installed.archive);
  const paths = execFileSync("tar", ["-tzf", installed.archive], { encoding: "utf8" }).trim().split("\n");
  console.log(`${(size / 1e6).toFixed(2)} MB, ${paths.length} files`);
  expect(size).toBeLessThan(3_500_000);
  expect(paths).toContain("package/sbom.cdx.json");
  for (const folder of ["console", "pages", "program"])
    expect(paths).toContain(`package/dist/${folder}/THIRD-PARTY-LICENSES.txt`);
  expect(paths.filter((path) => /\.map$|^package\/(src|test|deploy)\/|\.env|(?<!\.d)\.ts$/.test(path))).toEqual([]);
});

test("nothing is installed beside it", () => {
  const folder = inRoot("node_modules");
  expect(readdirSync(folder).filter((name) => !name.startsWith("."))).toEqual(["platform-api"]);
  expect(existsSync(inRoot("node_modules/platform-api/node_modules"))).toBe(false);
});

test("the licences of the packages in the bundle are beside it", () => {
  const text = readFileSync(inRoot("node_modules/platform-api/dist/program/THIRD-PARTY-LICENSES.txt"), "utf8");
  const named = new Set([...text.matchAll(/^(@?[\w./-]+) \d+\.\d+\.\d+\S*, /gm)].map(([, name]) => name));
  const { dependencies } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
  expect(Object.keys(dependencies).filter((name) => !named.has(name))).toEqual([]);
  expect(named).not.toContain("typescript");
  expect(text).toContain("Copyright 2008 Google Inc.");
  expect(text).toContain("The Connect Authors");
});

test.each([
  [["--version"], /^\d+\.\d+\.\d+\n$/],
  [["--help"], /Commands that call a server:[\s\S]*Commands that run a server/],
  [["routes"], /platform\.ping\.v2/],
  [["openapi"], /"openapi": "3\.1/],
  [["openapi", "--version", "v1", "--format", "yaml"], /^openapi: 3\.1/],
  [["import", "--help"], /Usage: platform import/],
  [["config", "--help"], /Usage: platform config/],
])("platform %j", async (args, output) => {
  for (const program of ["platform", "platform-api"]) {
    const { code, stdout, stderr } = await run(program, args);
    expect(stderr).toBe("");
    expect(stdout).toMatch(output);
    expect(code).toBe(0);
  }
});

test("a test suite of others starts a stand-in, seeds it, calls it and stops it", async () => {
  cpSync(join(repository, "examples/contract-testing"), inRoot("suite"), { recursive: true });
  writeFileSync(inRoot("suite/package.json"), '{ "type": "module" }');
  const suite = () => run(process.execPath, ["--test", "suite/repos.node-test.js"]);
  await suite(); // compiles the program once
  const startMs = performance.now();
  const { code, stdout } = await suite();
  console.log(`a suite with a stand-in took ${Math.round(performance.now() - startMs)} ms`);
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(/pass 2/);
});

test("platform proto export writes the contract", async () => {
  expect(await run("platform", ["proto", "export", "protos"])).toMatchObject({ code: 0 });
  expect(existsSync(inRoot("protos/platform/iam/v2/roles.proto"))).toBe(true);
});

/** The tutorial in short, by the command line of the package. */
async function takeTour(url: string, database: string): Promise<void> {
  const { stdout: token } = await run("npx", ["platform-api", "token", "--database", database]);
  const client = { PLATFORM_SERVER: url, PLATFORM_TOKEN: token.trim() };
  const ok = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await run("platform", args, client);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const claims = ["--claim-match.issuer", "https://issuer.example.com", "--claim-match.subject", "ci"];
  await ok("create", "group", "--name", "team", "--parent", "platform");
  await ok("create", "role", "--parent", "team", "--name", "reader", "--capabilities", "CAP_REPO_LIST");
  const identity = await ok("create", "identity", "--parent", "team", "--name", "ci", ...claims, "-o", "name");
  await ok("create", "role-binding", "--parent", "team", "--identity-uid", "ci", "--role-uid", "reader");
  await ok("create", "repo", "--parent", "team", "--name", "my-repo");
  expect(await ok("update", "repo", "my-repo", "--description", "Changed")).toContain("description: Changed\n");
  expect(JSON.parse(await ok("list", "repos", "--below", "team", "-o", "json"))).toMatchObject([{ name: "my-repo" }]);
  const uid = identity.trim().replace(/^identity\//, "");
  const { stdout: other } = await run("platform", ["token", "--database", database, "--identity", uid]);
  const reader = { ...client, PLATFORM_TOKEN: other.trim() };
  expect((await run("platform", ["list", "repos", "-o", "name"], reader)).stdout).toMatch(/^repo\/\S+\n$/);
  expect(await run("platform", ["create", "repo", "--parent", "team", "--name", "mine"], reader)).toMatchObject({
    code: 3, // the reader does not see the group by its name
    stdout: "",
  });
  expect(await run("platform", ["delete", "repo", "my-repo"], reader)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("Permission denied: CAP_REPO_DELETE needed"),
  });
}

test.each([[[]], [["--workers", "2"]]])("npx platform-api serve %j", async (more) => {
  const database = `sqlite:${inRoot(`data${more.length}.db`)}`;
  const settings = ["--database", database, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const server = start("npx", ["platform-api", "serve", ...settings, ...more]);
  let errors = "";
  server.stderr.on("data", (chunk) => (errors += chunk));
  let printed = "";
  while (!/^platform listens on (\S+)/.test(printed)) {
    const [chunk] = await Promise.race([once(server.stdout, "data"), once(server, "exit").then(() => [])]);
    expect(chunk, errors).toBeDefined();
    printed += chunk;
  }
  const [, url] = /^platform listens on (\S+)/.exec(printed)!;
  await takeTour(url!, database);
  const page = await (await fetch(`${url}/docs`)).text();
  const assets = [...page.matchAll(/\/assets\/[\w.-]+/g)].map(([path]) => path);
  expect(assets.some((path) => path.includes("scalar"))).toBe(true);
  for (const path of assets) expect((await fetch(url + path)).status, path).toBe(200);
  expect((await fetch(`${url}/openapi.yaml`)).status).toBe(200);
  signalGroup(server, "SIGTERM");
  await once(server, "close"); // of its output too, which every process of the group has
});

test("an older Node is told what to do", async () => {
  const old = olderNode();
  if (old === undefined) return console.warn("not tested: there is no older Node on the PATH");
  for (const program of ["platform", "platform-api"]) {
    const { code, stderr } = await run(old.path, [inRoot("node_modules/.bin", program), "serve"]);
    expect(stderr).toMatch(/needs Node 24\.16 or newer.*\n.*nodejs\.org.*\n {2}npx --package node@24/);
    expect(code).toBe(1);
  }
});

test("the entry for tests says under an older Node which one it needs", () => {
  const older = olderNode();
  if (older === undefined || older.version < 20) return console.warn("not tested: there is no Node 20 on the PATH");
  writeFileSync(
    inRoot("older.mjs"),
    'import { startPlatform } from "platform-api/testing";\nawait startPlatform().catch(({ message }) => console.log(message));\n',
  );
  const { stdout, stderr } = spawnSync(older.path, [inRoot("older.mjs")], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(stdout).toContain("error: platform needs Node 24.16 or newer, and this is v");
});
