/**
 * Every command of the README, the tutorial and the page about findings, as readers run them: in order, in one shell,
 * in a checkout, beside a server that was started as the page says. The output must be what the page shows after the
 * commands. Two commands are not run here: `npm ci`, which every change passes before its tests, and `npm test`, which
 * runs this.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
const [installation, ...stepsOfReadme] = readSteps(readme);
const pages = [
  { page: "README.md", steps: stepsOfReadme },
  ...["docs/tutorial.md", "docs/findings.md", "docs/decisions-and-policies.md"].map((page) => ({
    page,
    steps: readSteps(readFileSync(join(repository, page), "utf8")),
  })),
];

test("the README begins with its two commands, and has at most 120 lines and a small picture", () => {
  expect(installation!.script).toBe("npm ci && npm start\nnpm ci && npm test");
  expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(120);
  const pictures = [...readme.matchAll(/!\[.*?\]\((.*?)\)/g)].map(([, path]) => readFileSync(join(repository, path!)));
  expect(pictures.length).toBe(1);
  expect(pictures[0]!.length).toBeLessThanOrEqual(200 * 1024);
});

describe.each(pages)("$page", ({ steps }) => {
  const [server, ...others] = steps;
  let checkout: Checkout;

  beforeAll(async () => {
    checkout = await Checkout.create();
    console.log("not run: `npm ci` before `npm start`, and `npm test`");
    await checkout.startServer(server!.script.replace("npm ci && ", ""));
  }, 60_000);

  afterAll(() => checkout?.remove());

  test("starts the server with the command of the README", () => {
    expect(server).toMatchObject({ tag: "sh server", script: "npm ci && npm start" });
  });

  test.each(others)("line $line", async ({ tag, script, expected }) => {
    if (tag === "sh server") return checkout.startServer(script);
    expect((await checkout.run(script)).trimEnd()).toBe(expected?.trimEnd() ?? "");
  });
});

/** A folder like a fresh checkout after `npm ci`, with a server and a shell. */
class Checkout {
  readonly #folder: string;
  readonly #port: number;
  readonly #env: NodeJS.ProcessEnv;
  readonly #shell: ChildProcess;
  #server: ChildProcess | undefined;
  #printed = "";
  #remarks = "";

  static async create(): Promise<Checkout> {
    const folder = await mkdtemp(join(tmpdir(), "platform-checkout-"));
    for (const name of ["bin", "gen", "pages", "proto", "src", "package.json"])
      cpSync(join(repository, name), join(folder, name), { recursive: true });
    symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
    return new Checkout(folder, (await isFree(8080)) ? 8080 : await freePort());
  }

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
    const address = `127.0.0.1:${port}`;
    const elsewhere = { PLATFORM_LISTEN: address, PLATFORM_SERVER: `http://${address}` };
    this.#env = { ...cleanEnvironment(), ...(port === 8080 ? {} : elsewhere) };
    if (port !== 8080) console.log(`port 8080 is taken: the commands run with ${port} in its place`);
    this.#shell = spawn("bash", ["--norc", "--noprofile"], { cwd: folder, env: this.#env });
    this.#shell.stdout!.setEncoding("utf8").on("data", (chunk) => {
      this.#printed += chunk;
    });
    this.#shell.stderr!.setEncoding("utf8").on("data", (chunk) => {
      this.#remarks += chunk;
    });
  }

  /** Stops the server, if there is one, starts it by a script, and waits until it listens. */
  async startServer(script: string): Promise<void> {
    await this.#stopServer();
    const child = spawn("bash", ["-c", script], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    this.#server = child;
    await new Promise<void>((resolve, reject) => {
      let log = "";
      child.stderr.on("data", (chunk) => {
        log += chunk;
      });
      child.stdout.on("data", (chunk) => String(chunk).includes("platform listens on") && resolve());
      child.once("exit", () => reject(new Error(`the server ended: ${log}`)));
    });
  }

  /** Stops npm, and the server below it. */
  async #stopServer(): Promise<void> {
    if (this.#server?.exitCode !== null) return;
    const ended = once(this.#server, "exit");
    process.kill(-this.#server.pid!, "SIGTERM");
    await ended;
  }

  /** Runs lines in the shell and returns their output, without standard error: progress of curl, notices of npm. */
  async run(script: string): Promise<string> {
    const end = `end of step ${Math.random()}`;
    this.#printed = "";
    this.#remarks = "";
    this.#shell.stdin!.write(`${script.replaceAll("8080", String(this.#port))}\necho "${end} $?"\n`);
    await expect.poll(() => this.#printed, { interval: 20 }).toContain(`${end} `);
    const [output, status] = this.#printed.split(end);
    expect(status?.trim(), `${output}${this.#remarks}`).toBe("0");
    return output!;
  }

  async remove(): Promise<void> {
    this.#shell.kill();
    await this.#stopServer();
    rmSync(this.#folder, { recursive: true, force: true });
  }
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

function isFree(candidate: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once("error", () => resolve(false));
    probe.listen(candidate, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
