/**
 * Every command of the README, as its reader runs them: in order, in one shell, in a checkout, beside a server that was
 * started as the README says. What the README shows after its commands must come out. Two commands are not run here:
 * `npm ci`, which every change passes before its tests, and `npm test`, which is what runs this.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanEnvironment, repository } from "../cli/platform-process.ts";
import { freePort } from "../free-port.ts";

/** A fenced block that is run, and the one right after it that shows what is printed. */
interface Step {
  readonly line: number;
  readonly tag: string;
  readonly script: string;
  readonly expected: string | undefined;
}

const readme = readFileSync(join(repository, "README.md"), "utf8");
const [installation, ...others] = readSteps(readme);
const server = others.find(({ tag }) => tag === "sh server")!;
const steps = others.filter((step) => step !== server && step.tag.startsWith("sh"));

let checkout: string | undefined;
let port: number;
let env: NodeJS.ProcessEnv;
let running: ChildProcess;
let shell: ChildProcess;
let printed = "";
let remarks = "";

beforeAll(async () => {
  checkout = await copyOfCheckout();
  port = (await isFree(8080)) ? 8080 : await freePort();
  if (port !== 8080) console.log(`port 8080 is taken: the README's commands run with ${port} in its place`);
  const address = `127.0.0.1:${port}`;
  const elsewhere = { PLATFORM_LISTEN: address, PLATFORM_SERVER: `http://${address}` };
  env = { ...cleanEnvironment(), ...(port === 8080 ? {} : elsewhere) };
  console.log(
    `not run: ${installation!.script.split("\n").join("; ")} (run by whoever runs these tests), and \`npm ci\` before \`npm start\``,
  );
  await start(server.script.replace("npm ci && ", ""));
  shell = spawn("bash", ["--norc", "--noprofile"], { cwd: checkout, env, stdio: ["pipe", "pipe", "pipe"] });
  shell.stdout!.setEncoding("utf8").on("data", (chunk) => {
    printed += chunk;
  });
  shell.stderr!.setEncoding("utf8").on("data", (chunk) => {
    remarks += chunk;
  });
}, 60_000);

afterAll(async () => {
  shell?.kill();
  await stop();
  if (checkout !== undefined) rmSync(checkout, { recursive: true, force: true });
});

test("the README begins with its two commands, and starts the server with one of them", () => {
  expect(installation!.script).toBe("npm ci && npm start\nnpm ci && npm test");
  expect(server.script).toBe("npm ci && npm start");
});

test.each(steps)("line $line", async ({ tag, script, expected }) => {
  if (tag === "sh server") {
    await stop();
    return start(script);
  }
  const output = await run(script.replaceAll("8080", String(port)));
  expect(output.trimEnd()).toBe(expected?.trimEnd() ?? "");
});

/** Starts the server and waits until it listens. */
async function start(script: string): Promise<void> {
  const child = spawn("bash", ["-c", script], {
    cwd: checkout,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running = child;
  await new Promise<void>((resolve, reject) => {
    let log = "";
    child.stderr.on("data", (chunk) => {
      log += chunk;
    });
    child.stdout.on("data", (chunk) => String(chunk).includes("platform listens on") && resolve());
    child.once("exit", () => reject(new Error(`the server ended: ${log}`)));
  });
}

/** Stops it, npm and the server below it. */
async function stop(): Promise<void> {
  if (running?.exitCode !== null) return;
  const ended = once(running, "exit");
  process.kill(-running.pid!, "SIGTERM");
  await ended;
}

/**
 * Runs lines in the one shell and gives what they print. What they say on standard error (curl its progress, npm its
 * remarks) is no answer.
 */
async function run(script: string): Promise<string> {
  const end = `end of step ${Math.random()}`;
  printed = "";
  remarks = "";
  shell.stdin!.write(`${script}\necho "${end} $?"\n`);
  await expect.poll(() => printed, { interval: 20 }).toContain(`${end} `);
  const [output, status] = printed.split(end);
  expect(status?.trim(), `${output}${remarks}`).toBe("0");
  return output!;
}

/** The blocks tagged `sh` and `sh server`; one tagged `text` or `json` right after is what the block prints. */
function readSteps(markdown: string): Step[] {
  const blocks = [...markdown.matchAll(/^```(?<tag>[^\n]*)\n(?<content>.*?)^```$/gms)].map(
    ({ index, groups, 0: whole }) => ({
      line: markdown.slice(0, index).split("\n").length,
      end: index + whole.length,
      index,
      tag: groups!.tag!,
      content: groups!.content!,
    }),
  );
  return blocks.flatMap(({ line, tag, content, end }, i) => {
    if (!tag.startsWith("sh")) return [];
    const next = blocks[i + 1];
    const isAnswer =
      next !== undefined && /^(text|json)$/.test(next.tag) && markdown.slice(end, next.index).trim() === "";
    return [{ line, tag, script: content.trimEnd(), expected: isAnswer ? next.content : undefined }];
  });
}

/** A folder like a fresh checkout after `npm ci`; what it is told to write, it writes there. */
async function copyOfCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "platform-checkout-"));
  for (const name of ["bin", "gen", "pages", "proto", "src", "package.json"]) {
    cpSync(join(repository, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  return folder;
}

function isFree(candidate: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once("error", () => resolve(false));
    probe.listen(candidate, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
