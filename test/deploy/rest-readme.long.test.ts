/** The package of the transcoder is light, and its README leads from an empty folder to a server. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { repository, temporaryFolder } from "../cli/platform-process.ts";
import { freePort } from "../free-port.ts";
import { blocksOf } from "../recipes/recipe.ts";
import { archiveOf, olderNode } from "./installed-package.ts";

const archive = archiveOf("@platform-api/rest");
const versionOf = (name: keyof typeof manifest.dependencies) => `${name}@${manifest.dependencies[name]}`;
const peers = [versionOf("@connectrpc/connect"), versionOf("@bufbuild/protobuf")];

/** The PATH with the oldest Node that it runs on before others; undefined, with a warning, if there is none. */
function pathOfNode20(): string | undefined {
  const older = olderNode();
  if (older?.version === 20) return `${dirname(older.path)}:${process.env.PATH}`;
  return void console.warn("not tested: there is no Node 20 on the PATH");
}

test("under Node 20 it is installed without a warning: three packages, at most 6 MB", async () => {
  const path = pathOfNode20();
  if (path === undefined) return;
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "package.json"), "{}");
  const args = ["install", "--no-audit", "--no-fund", archive, ...peers];
  const { stdout, stderr } = spawnSync("npm", args, {
    cwd: folder,
    env: { ...process.env, PATH: path },
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(stdout).toContain("added 3 packages");
  const files = readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true });
  const sizes = files.filter((it) => it.isFile()).map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(6_000_000);
});

describe("the quick start of its README", () => {
  const readme = blocksOf(readFileSync(join(repository, "packages/rest/README.md"), "utf8"));

  // The lowest versions that the package accepts beside what is installed elsewhere in these tests.
  test.each([
    ["with this Node", peers, versionOf("@connectrpc/connect-node")],
    [
      "with Node 20 and the oldest peers",
      ["@connectrpc/connect@2.0.0", "@bufbuild/protobuf@2.7.0"],
      "@connectrpc/connect-node@2.0.0",
    ],
  ])("%s", async (name, versions, adapter) => {
    const path = name.includes("20") ? pathOfNode20() : process.env.PATH;
    if (path === undefined) return;
    const folder = await temporaryFolder();
    const env = { ...process.env, PATH: path };
    const run = (command: string) =>
      execFileSync("sh", ["-ec", command], { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
    const port = String(await freePort());
    for (const { path, content } of readme.filter((block) => block.path !== "")) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content.replace("8080", port));
    }
    run("npm init -y >/dev/null && npm pkg set type=module");
    run(["npm install --no-audit --no-fund", archive, ...versions, adapter].join(" "));
    mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
    for (const program of ["buf", "protoc-gen-es"])
      symlinkSync(join(repository, "node_modules/.bin", program), join(folder, "node_modules/.bin", program));
    run("npx buf generate");
    const child = spawn("node", ["server.js"], { cwd: folder, env, stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    const origin = `http://localhost:${port}`;
    await expect
      .poll(() =>
        fetch(origin).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(404);
    const outputAfter = (text: string) =>
      readme[readme.findIndex(({ content }) => content.includes(text)) + 1]!.content;
    const call = (text: string) =>
      readme.find(({ content }) => content.includes(text))!.content.replaceAll("8080", port);
    const say = "localhost:8080/v1/sentences/Hello";
    const lines = call(say).trim().split("\n");
    expect(lines.map((line) => run(line)).join("\n")).toBe(outputAfter(say).trim());
    const events = "curl -N";
    expect(run(call(events)).trim()).toBe(outputAfter(events).trim());
  });
});
