/** Runs the program in its own process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { programEntry } from "./program.ts";

/** The checkout. */
export const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Where a process runs: its variables come in addition to those of this one that are not settings. */
export interface Surroundings {
  readonly cwd?: string;
  /** Standard input of a process of its own; empty by default. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The module that Node runs; the program's by default. */
  readonly entry?: string;
}

/** The result of a command. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function runPlatform(args: readonly string[], surroundings: Surroundings = {}): Promise<Outcome> {
  const child = spawnPlatform(args, surroundings);
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, "close")]);
  return {
    code: child.exitCode,
    stdout,
    stderr: child.signalCode === null ? stderr : `${stderr}ended by ${child.signalCode}`,
  };
}

/** A command that runs. */
export interface RunningCommand {
  /** Its result, at its end. */
  readonly ended: Promise<Outcome>;
  /** What it has written to standard error so far. */
  stderr(): string;
  /** Waits until its standard error matches. Errors: it ended before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Waits until its standard output matches. Errors: it ended before. */
  wrote(pattern: RegExp): Promise<RegExpExecArray>;
  signal(name: NodeJS.Signals): void;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Outcome>;
}

/** Starts a command that is stopped, or observed while it runs. */
export function startCommand(args: readonly string[], surroundings: Surroundings = {}): RunningCommand {
  const child = spawnPlatform(args, surroundings);
  const written = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream]!.setEncoding("utf8").on("data", (chunk) => {
      written[stream] += chunk;
    });
  const ended = once(child, "close").then(() => ({ code: child.exitCode, ...written }));
  async function matches(stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    for (let hasEnded = false; ; ) {
      const match = pattern.exec(written[stream]);
      if (match !== null) return match;
      if (hasEnded) throw new Error(`${pattern} is not in ${JSON.stringify(written[stream])}`);
      hasEnded = await Promise.race([once(child[stream]!, "data").then(() => false), ended.then(() => true)]);
    }
  }
  return {
    ended,
    stderr: () => written.stderr,
    printed: (pattern) => matches("stderr", pattern),
    wrote: (pattern) => matches("stdout", pattern),
    signal: (name) => void child.kill(name),
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** A running server. */
export interface PlatformProcess {
  readonly baseUrl: string;
  readonly pid: number;
  /** Its output so far. */
  stdout(): string;
  stderr(): string;
  /** Sends a signal, if it has not ended. */
  signal(name: NodeJS.Signals): void;
  /** Sends a signal and waits for the end. Returns the exit status, or null if the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `serve` and waits for its address. The caller stops it. Errors: the process ended before. */
export async function startPlatform(
  args: readonly string[],
  surroundings: Surroundings = {},
): Promise<PlatformProcess> {
  const child = spawnPlatform(["serve", ...args], surroundings);
  const written = { stdout: "", stderr: "" };
  const closed = once(child, "close");
  child.stderr!.setEncoding("utf8").on("data", (chunk) => {
    written.stderr += chunk;
  });
  const baseUrl = await new Promise<string>((resolve, reject) => {
    child.stdout!.setEncoding("utf8").on("data", (chunk) => {
      written.stdout += chunk;
      const listening = /^platform listens on (\S+)\n/.exec(written.stdout);
      if (listening?.[1] !== undefined) resolve(listening[1]);
    });
    closed.then(() => reject(new Error(`the server ended: ${written.stdout}${written.stderr}`)), reject);
  });
  let ending = false;
  child.once("exit", (code, signal) => {
    if (!ending) console.error(`the server ended by itself (${code ?? signal}):\n${written.stderr.slice(-4000)}`);
  });
  return {
    baseUrl,
    pid: child.pid!,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    signal: (name) => void child.kill(name),
    async end(signal) {
      ending = true;
      child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
}

/** Starts `serve` for one test, and stops it with the test. */
export async function startPlatformForTest(
  args: readonly string[],
  surroundings: Surroundings = {},
): Promise<PlatformProcess> {
  const server = await startPlatform(args, surroundings);
  onTestFinished(async () => {
    await server.end("SIGKILL");
  });
  return server;
}

/** An empty folder for one test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "platform-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Settings for the servers and commands of a test: a SQLite database in a folder, and any free port. */
export function settingsIn(folder: string): { database: string[]; serve: string[] } {
  const database = ["--database", `sqlite:${join(folder, "platform.db")}`];
  return { database, serve: [...database, "--listen", "127.0.0.1:0"] };
}

/** Variables of this process without settings, so that the environment does not influence tests. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("PLATFORM_"));
  return {
    ...Object.fromEntries(others),
    PLATFORM_ADMIN_LISTEN: "off", // servers on one machine do not share the default
    XDG_CONFIG_HOME: join(tmpdir(), "no-profiles"), // not those of whoever runs the tests
    PLATFORM_DRAIN_DELAY: "0", // tests ask for readiness, and no balancer does
    ...(isOnNodesHttp2 && { PLATFORM_HTTP2: "node" }),
    ...(isWithoutFastPath && { PLATFORM_FAST_PATH: "off" }),
    ...(isWithoutGeneratedCode && { PLATFORM_GENERATED_CODE: "off" }),
  };
}

/** Whether tests run with the HTTP/2 implementation of Node. */
export const isOnNodesHttp2 = process.env.TEST_HTTP2 === "node";

/** Whether tests run without the fast path. */
export const isWithoutFastPath = process.env.TEST_FAST_PATH === "off";

/** Whether tests run without generated code. */
export const isWithoutGeneratedCode = process.env.TEST_GENERATED_CODE === "off";

function spawnPlatform(
  args: readonly string[],
  { cwd = tmpdir(), env = {}, entry = programEntry(), input }: Surroundings,
): ChildProcess {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.end(input);
  return child;
}
