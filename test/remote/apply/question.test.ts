/** The question before a prune, on a terminal, which the program `script` makes. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { pruneQuestion } from "../../../src/remote/apply/command.ts";
import { cleanEnvironment } from "../../cli/platform-process.ts";
import { programEntry } from "../../cli/program.ts";
import { startWithFolder } from "../server.ts";

const noTerminal = spawnSync("script", ["--version"]).error?.message;
if (noTerminal !== undefined) console.warn(`questions on a terminal are not tested: ${noTerminal}`);

let server: Awaited<ReturnType<typeof startWithFolder>>;

beforeAll(async () => {
  server = await startWithFolder();
});

afterAll(() => server.stop());

/** Runs `apply --prune` on a terminal and types `keys` at its question. */
async function pruneOnTerminal(file: string, keys: string) {
  const command = `exec ${process.execPath} ${programEntry()} apply -f ${file} --prune`;
  const terminal = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    env: { ...cleanEnvironment(), ...server.env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void terminal.kill());
  let output = "";
  terminal.stdout.setEncoding("utf8").on("data", (chunk) => {
    output += chunk;
  });
  const ended = once(terminal, "close");
  await expect.poll(() => output).toContain("? [y/N] ");
  terminal.stdin.write(keys);
  await ended;
  return { code: terminal.exitCode, output: output.replaceAll("\r\n", "\n") };
}

test("the question counts the resources of each kind, where they are many", () => {
  const repos = Array.from({ length: 2999 }, (_, i) => ({
    type: "registry.platform.internal/Repo",
    label: `Repo r${i} in team`,
  }));
  const group = { type: "iam.platform.internal/Group", label: "Group team" };
  expect(pruneQuestion([...repos, group])).toBe(
    "Delete 2,999 repos (r0 in team, r1 in team, r2 in team, …), 1 group (team)?",
  );
  expect(pruneQuestion([repos[0]!, group])).toBe("Delete Repo r0 in team, Group team?");
});

test.skipIf(noTerminal !== undefined).each([
  ["yes", "y\r", { pruned: 1, code: 0, note: "" }],
  ["no", "n\r", { pruned: 0, code: 0, note: "note: nothing is pruned\n" }],
  ["Ctrl-D", "\u0004", { pruned: 0, code: 0, note: "note: nothing is pruned\n" }],
  ["Ctrl-C", "\u0003", { pruned: 0, code: 130, note: "error: interrupted\n" }],
])("%s", async (name, keys, { pruned, code, note }) => {
  const file = join(server.folder, `${name}.yaml`);
  const document = (repo: string) =>
    `kind: Repo\nparent: ${server.root}\nspec: {name: ${name.toLowerCase()}-${repo}}\n`;
  await writeFile(file, `${document("a")}---\n${document("b")}`);
  expect(await server.run(["apply", "-f", file])).toMatchObject({ code: 0 });
  await writeFile(file, document("a"));
  const outcome = await pruneOnTerminal(file, keys);
  expect(outcome.output).toContain(`Delete Repo ${name.toLowerCase()}-b in ${server.root}? [y/N] `);
  expect(outcome.output).toContain(`created 0, updated 0, unchanged 1, pruned ${pruned}\n`);
  expect(outcome.output).toContain(note);
  expect(outcome.code).toBe(code);
  const left = await server.run(["apply", "-f", file, "--prune", "--yes"]);
  expect(left.stdout).toContain(`pruned ${1 - pruned}\n`);
});
