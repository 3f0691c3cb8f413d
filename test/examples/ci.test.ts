/** The examples for CI systems: what they call exists, and their identity may do what the job does. */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";
import { startWithFolder } from "../remote/server.ts";

/** The digest of the image that the jobs build. */
const digest = `sha256:${"0a".repeat(32)}`;

/** The words of each call of the program in a script, as bash reads them. */
function callsIn(script: string, env: Readonly<Record<string, string>>, cwd: string): string[][] {
  const called = `platform() { printf '%s\\0' "$@" >&3; echo >&3; }\n${script}`;
  const { status, output } = spawnSync("bash", ["-euc", called], {
    env: { PATH: process.env.PATH, ...env },
    cwd,
    stdio: ["ignore", "pipe", "inherit", "pipe"],
    encoding: "utf8",
  });
  expect(status).toBe(0);
  return output[3]!
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split("\0").slice(0, -1));
}

/** The commands of steps and jobs that call the program. */
function scriptsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(scriptsIn);
  if (typeof value === "string") return /^platform /.test(value) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(scriptsIn);
}

describe.each(globSync("examples/ci/*.yml", { cwd: repository }))("%s", (path) => {
  const text = readFileSync(join(repository, path), "utf8");
  const example = load(text) as { readonly env?: object; readonly variables?: object };
  const setUp = text
    .split("\n")
    .filter((line) => line.startsWith("#   "))
    .map((line) => line.slice(4))
    .join("\n");
  const env = {
    ...example.env,
    ...example.variables,
    DIGEST: digest,
    IMAGE: `registry.example.com/acme/app@${digest}`,
  };
  const jobCalls = () => scriptsIn(example).flatMap((script) => callsIn(script, env, server.folder));
  const setUpCalls = () => callsIn(setUp, {}, server.folder);
  let server: Awaited<ReturnType<typeof startWithFolder>>;

  beforeAll(async () => {
    server = await startWithFolder();
  });
  afterAll(() => server.stop());

  test("calls commands that exist, with options that they have", async () => {
    const calls = [...setUpCalls(), ...jobCalls()];
    expect(calls.map(([name]) => name)).toEqual(["create", "create", "create", "login", "upload", "check"]);
    for (const words of calls) {
      const isNested = ["create", "upload"].includes(words[0]!);
      const { code, stdout } = await runHere([...words.slice(0, isNested ? 2 : 1), "--help"]);
      expect({ words, code }).toMatchObject({ code: 0 });
      for (const option of words.filter((word) => word.startsWith("-")))
        expect(stdout, words.join(" ")).toMatch(new RegExp(`(?<![\\w-])${option}(?![\\w-])`));
    }
  });

  test("gives its job what it needs, and a token of nothing else", async () => {
    await server.run(["create", "group", "--parent", server.root, "--name", "acme"]);
    await server.run(["create", "repo", "--parent", "acme", "--name", "app"]);
    const outcomes = [];
    for (const words of setUpCalls()) outcomes.push(await server.run([...words, "-o", "json"]));
    expect(outcomes.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      outcomes.map(() => ({ code: 0, stderr: "" })),
    );
    const identity = JSON.parse(outcomes[1]!.stdout).uid as string;
    const database = ["--database", `sqlite:${join(server.folder, "platform.db")}`];
    const { stdout } = await server.run(["token", "--identity", identity, ...database]);
    const asJob = { PLATFORM_TOKEN: stdout.trim() };
    const components = [{ type: "library", name: "a", version: "1.0.0", purl: "pkg:npm/a@1.0.0" }];
    const sbom = { bomFormat: "CycloneDX", specVersion: "1.6", components };
    await writeFile(join(server.folder, "sbom.cdx.json"), JSON.stringify(sbom));
    for (const words of jobCalls().filter(([name]) => name !== "login")) {
      const { code, stderr } = await server.run(words, asJob);
      expect({ words, code, stderr }).toMatchObject({ code: 0 });
    }
    expect(await server.run(["list", "findings", "-o", "json"], asJob)).toMatchObject({ stdout: "[]\n" });
    expect(await server.run(["list", "sbom-documents", "-o", "json"], asJob)).toMatchObject({ stdout: "[]\n" });
    expect(await server.run(["delete", "repo", "app", "--yes"], asJob)).toMatchObject({ code: 4 });
  });

  test(`is a file of ${basename(path, ".yml")}`, () => {
    const given = path.includes("github") ? ["on", "permissions", "jobs"] : ["stages", "variables"];
    for (const name of given) expect(example).toHaveProperty(name);
    expect(text).not.toMatch(/PLATFORM_TOKEN|secrets\./);
  });
});
