/** The program as users start it, and what its processes cost. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../test/free-port.ts";
import { folder } from "./processes.ts";
import type { Stall } from "./stalls.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const recorder = new URL("stall-recorder.ts", import.meta.url).href;

/** The file with the stalls of every process of a program: a {@link Stall} in JSON in each line. */
const stallsFile = join(folder, "stalls");

/** A running program. */
export interface Program {
  readonly port: number;
  readonly adminPort: number;
  readonly pid: number;
  /** From the start of the process to the first answer that says it is ready. */
  readonly readyMs: number;
  /** A token of the administrator. */
  readonly token: string;
  /** Ids of the processes that serve. */
  workers(): number[];
  /** The CPU time of all its processes so far. */
  cpuMs(): number;
  rssMb(): number;
  /** Empties its log. */
  emptyLog(): void;
  stop(): Promise<void>;
}

let started = 0;

/** The stalls that were recorded since the last call. */
export function recordedStalls(): Stall[] {
  if (!existsSync(stallsFile)) return [];
  const lines = readFileSync(stallsFile, "utf8").trim().split("\n");
  truncateSync(stallsFile);
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Stall);
}

/** Runs a command that ends, and returns what it prints. */
export function runCommand(args: readonly string[]): string {
  return execFileSync(process.execPath, [main, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

/** Starts `serve` on a database, and waits until it is ready. */
export async function startProgram(database: string, options: readonly string[], recordsStalls = false) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const addresses = ["--listen", `127.0.0.1:${port}`, "--admin-listen", `127.0.0.1:${adminPort}`];
  const logFile = join(folder, `program-${started++}.log`);
  const log = openSync(logFile, "a");
  const env = {
    ...process.env,
    ...(recordsStalls && { NODE_OPTIONS: `--import=${recorder}`, STALLS_FILE: stallsFile }),
  };
  const startMs = performance.now();
  const child = spawn(process.execPath, [main, "serve", "--database", database, ...addresses, ...options], {
    stdio: ["ignore", "ignore", log],
    env,
  });
  const pid = child.pid!;
  process.once("exit", () => child.kill("SIGKILL"));
  for (; !(await isReady(adminPort)); await new Promise((resolve) => setTimeout(resolve, 5))) {
    if (child.exitCode !== null) throw new Error(`the program ended: ${readFileSync(logFile, "utf8").slice(-2000)}`);
  }
  const readyMs = performance.now() - startMs;
  const processes = () => [pid, ...childrenOf(pid)];
  const sum = (value: (pid: number) => number) => processes().reduce((total, each) => total + value(each), 0);
  const program: Program = {
    port,
    adminPort,
    pid,
    readyMs,
    token: runCommand(["token", "--database", database]).trim(),
    workers: () => childrenOf(pid),
    cpuMs: () => sum(cpuMsOf),
    rssMb: () => sum(rssMbOf),
    emptyLog: () => truncateSync(logFile),
    stop: () => stop(child),
  };
  return program;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

function isReady(adminPort: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: "127.0.0.1", port: adminPort, path: "/readyz", agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    }).on("error", () => resolve(false));
  });
}

/** Linux reports the costs of a process in files. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

const ticksPerSecond = 100;

/** The CPU time of a process so far. */
export function cpuMsOf(pid: number): number {
  const fields = statOf(pid);
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

function rssMbOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return statOf(pid)[1] === String(parent);
      } catch {
        return false; // it has ended meanwhile
      }
    });
}
