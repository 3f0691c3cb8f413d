/** docs/client-typescript.md: its examples are one program, which is compiled, run and prints what the page says. */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { repository, temporaryFolder } from "../cli/platform-process.ts";
import { startWithFolder } from "../remote/server.ts";
import { blocksOf } from "./recipe.ts";

const run = promisify(execFile);

const entries = {
  "@platform-api/client": join(repository, "src/client/package.ts"),
  "@platform-api/client/node": join(repository, "src/client-node/package.ts"),
};

test("the examples of docs/client-typescript.md do what it says", async () => {
  const blocks = blocksOf(readFileSync(join(repository, "docs/client-typescript.md"), "utf8"));
  const textOf = (wanted: string) =>
    blocks
      .filter(({ language }) => language === wanted)
      .map(({ content }) => content)
      .join("");
  const folder = await temporaryFolder();
  const program = Object.entries(entries).reduce(
    (text, [name, path]) => text.replaceAll(`from "${name}"`, `from "${path}"`),
    textOf("ts"),
  );
  writeFileSync(join(folder, "program.ts"), program);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  const settings = { extends: join(repository, "tsconfig.json"), include: ["program.ts"] };
  const typeRoots = [join(repository, "node_modules/@types")];
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...settings, compilerOptions: { typeRoots } }));
  const compiler = join(repository, "node_modules/.bin/tsc");
  expect(spawnSync(compiler, ["--project", folder], { encoding: "utf8" }).stdout).toBe("");

  const server = await startWithFolder();
  onTestFinished(() => server.stop());
  const env = { ...process.env, PLATFORM_SERVER: server.server, PLATFORM_TOKEN: server.token };
  const { stdout } = await run(process.execPath, [join(folder, "program.ts")], { env });
  expect(stdout).toBe(textOf("text"));
});
