/** An apply that does not come to its end, and the one after it. */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanEnvironment, runPlatform, startCommand } from "../../cli/platform-process.ts";
import { programEntry } from "../../cli/program.ts";
import { startGate } from "../gate.ts";
import { startWithFolder } from "../server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;

beforeAll(async () => {
  server = await startWithFolder();
});

afterAll(() => server.stop());

/** Writes documents of repos, after the first of them a tag in the last. Returns the arguments that apply them. */
async function writeRepos(name: string, count: number, description = "first"): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `${name}${i}`);
  const tag = { kind: "Tag", parent: names.at(-1), spec: { name: "latest", digest: `sha256:${"a".repeat(64)}` } };
  const [first, ...others] = names.map((it) => ({
    kind: "Repo",
    parent: server.root,
    spec: { name: it, description },
  }));
  const documents = [first, tag, ...others];
  const file = join(server.folder, `${name}.json`);
  await writeFile(file, JSON.stringify(documents));
  return ["apply", "-f", file, "--record", recordOf(name)];
}

function recordOf(name: string): string {
  return join(server.folder, `${name}.record`);
}

/** How many of the resources in a record are printed as created. */
async function recorded(name: string, stdout: string): Promise<number> {
  const { resources } = JSON.parse(await readFile(recordOf(name), "utf8"));
  return resources.filter(({ label }: { label: string }) => stdout.includes(`+ ${label}\n`)).length;
}

/** The counts of a summary: those of `created`, `not attempted` and so on. */
function countsOf(stdout: string): Record<string, number> {
  const parts = stdout.trim().split("\n").at(-1)!.split(", ");
  return Object.fromEntries(parts.map((part) => [part.replace(/ \d+$/, ""), Number(/\d+$/.exec(part)?.[0])]));
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count);

test("Ctrl-C ends an apply of 300, tells what was done, and the next one finishes", async () => {
  const args = await writeRepos("interrupted", 299);
  const gate = await startGate(server.env.PLATFORM_SERVER!, "/CreateRepo", 20);
  const env = { ...server.env, PLATFORM_SERVER: gate.baseUrl };
  const command = startCommand(args, { env });
  await gate.reached;
  for (let i = 0; i < 3; i++) command.signal("SIGINT"); // of the terminal, and what npm and npx forward
  await expect.poll(command.stderr).toContain("interrupted");
  await gate.open();
  const { code, stdout, stderr } = await command.ended;
  expect(stderr).toMatch(/^note: interrupted; waiting for the changes under way .*\nerror: interrupted\n$/);
  expect(code).toBe(130);
  const counts = countsOf(stdout);
  expect(counts.created).toBeLessThan(40);
  expect(sum(counts)).toBe(300);
  expect(await recorded("interrupted", stdout)).toBe(counts.created);
  const next = await server.run(args, env);
  expect(countsOf(next.stdout)).toMatchObject({ created: counts["not attempted"], unchanged: counts.created });
  const pruned = await server.run([...(await writeRepos("interrupted", 1)), "--prune", "--yes"], env);
  expect(countsOf(pruned.stdout)).toMatchObject({ pruned: 299 });
});

test("a server that stops in the middle is told once, with what was done, and the next apply finishes", async () => {
  const args = await writeRepos("cut", 299);
  const gate = await startGate(server.env.PLATFORM_SERVER!, "/CreateRepo", 20);
  const env = { ...server.env, PLATFORM_SERVER: gate.baseUrl };
  const command = startCommand(args, { env });
  await gate.reached;
  gate.cut();
  const { code, stdout, stderr } = await command.ended;
  expect(stderr).toMatch(/^error: .*: Repo cut\d+ in [0-9a-f]+: cannot reach \S+ \(--server\): .*\n$/);
  expect(code).toBe(6);
  const counts = countsOf(stdout);
  expect(counts.failed).toBeGreaterThan(0);
  expect(counts["not attempted"]).toBeGreaterThan(250);
  expect(sum(counts)).toBe(300);
  expect(await recorded("cut", stdout)).toBe(counts.created);
  await gate.open();
  const next = countsOf((await server.run(args, env)).stdout);
  expect(next.created! + next.unchanged!).toBe(300);
});

test("a server that does not answer in time ends the apply", async () => {
  const gate = await startGate(server.env.PLATFORM_SERVER!, "/CreateRepo", 0);
  const args = [...(await writeRepos("slow", 30)), "--timeout", "1"];
  const { code, stdout, stderr } = await server.run(args, { PLATFORM_SERVER: gate.baseUrl });
  expect(stderr).toMatch(/^error: .*: Repo slow\d+ in [0-9a-f]+: .*\n$/);
  expect(code).toBe(6);
  expect(countsOf(stdout)).toMatchObject({ created: 0, failed: 8, "not attempted": 23 });
});

test("a change in between is explained, and applying again compares with it", async () => {
  await server.run(await writeRepos("raced", 1));
  const args = await writeRepos("raced", 1, "second");
  const gate = await startGate(server.env.PLATFORM_SERVER!, "/UpdateRepo", 0);
  const command = startCommand(args.slice(0, 3), { env: { ...server.env, PLATFORM_SERVER: gate.baseUrl } });
  await gate.reached;
  await server.run(["update", "repo", "raced0", "--description", "between"]);
  await gate.open();
  const { code, stderr } = await command.ended;
  expect(stderr).toMatch(
    /Repo raced0 in [0-9a-f]+: .*\nhint: somebody else changed it at the same time; try again\nrequest id: \S+\n/,
  );
  expect(code).toBe(5);
  expect((await server.run(args)).stdout).toContain('- description: "between"\n');
});

test("a record that cannot be written ends the apply, with what was done", async () => {
  await mkdir(`${recordOf("full")}.tmp`);
  const { code, stdout, stderr } = await server.run(await writeRepos("full", 30));
  expect(stderr).toMatch(/^error: cannot write the record .*full.record: .*\n$/);
  expect(code).toBe(1);
  const counts = countsOf(stdout);
  expect(counts["not attempted"]).toBeGreaterThan(0);
  expect(stdout.match(/^\+ Repo /gm)).toHaveLength(counts.created!);
});

test("a reader that closes the pipe does not end the apply", async () => {
  const args = await writeRepos("piped", 300);
  const program = [process.execPath, programEntry(), ...args].join(" ");
  const { stdout } = await promisify(execFile)("bash", ["-c", `${program} | head -1; echo \${PIPESTATUS[0]}`], {
    env: { ...cleanEnvironment(), ...server.env },
  });
  expect(stdout).toMatch(/^\+ Repo piped0 in [0-9a-f]+\n0\n$/);
  expect(countsOf((await server.run(args)).stdout)).toMatchObject({ created: 0, unchanged: 301 });
});

test("standard input is applied, and pruned by an origin", async () => {
  const apply = (count: number, ...options: string[]) => {
    const input = Array.from({ length: count }, (_, i) => `kind: Repo\nparent: ${server.root}\nspec: {name: in${i}}\n`);
    return runPlatform(["apply", "-f", "-", ...options], { env: server.env, input: input.join("---\n") });
  };
  expect(await apply(3, "--origin", "ci")).toMatchObject({ code: 0, stderr: "" });
  expect(await apply(2, "--prune", "--yes")).toMatchObject({ code: 2, stdout: "" });
  expect(await apply(2, "--prune", "--origin", "ci")).toMatchObject({
    code: 2,
    stderr: "error: --prune needs --yes where there is no terminal to ask on\n",
  });
  expect(countsOf((await apply(2, "--prune", "--origin", "ci", "--yes")).stdout)).toMatchObject({ pruned: 1 });
  expect((await apply(0)).stderr).toBe("error: no document in -\n");
});
