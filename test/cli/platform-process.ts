/** The program as its users run it: a process of its own, started from the sources. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The checkout. */
export const repository = fileURLToPath(new URL("../..", import.meta.url));

const entry = join(repository, "src/main.ts");

/** Where and with which variables a process runs, beside those of this one that are no settings. */
export interface Surroundings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a command left behind. */
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

/** A server that has said where it listens. */
export interface PlatformProcess {
  readonly baseUrl: string;
  readonly pid: number;
  /** What it has written so far. */
  stdout(): string;
  stderr(): string;
  /** Sends a signal, if it has not ended. */
  signal(name: NodeJS.Signals): void;
  /** Sends a signal and waits for the end; the exit status, or null when the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `serve` and waits for its address. Whoever starts it ends it. Errors: it ended first. */
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

/** Starts `serve` for one test, which it does not outlive. */
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

/** The settings that servers and commands of a test share: an embedded database in a folder, and any free port. */
export function settingsIn(folder: string): { database: string[]; serve: string[] } {
  const database = ["--database", `sqlite:${join(folder, "platform.db")}`];
  return { database, serve: [...database, "--listen", "127.0.0.1:0"] };
}

/** This process's variables without settings, so that whoever runs the tests decides nothing. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("PLATFORM_"));
  return { ...Object.fromEntries(others), ...(isWithoutFastLane && { PLATFORM_FULL_DOORS: "true" }) };
}

/** Whether this run of the tests goes through the full doors alone. */
export const isWithoutFastLane = process.env.TEST_NO_FAST_LANE === "true";

function spawnPlatform(args: readonly string[], { cwd = tmpdir(), env = {} }: Surroundings): ChildProcess {
  return spawn(process.execPath, [entry, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}
