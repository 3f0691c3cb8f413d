/** The processes of a run: servers on one core, the load generator on the other, where the system can pin them. */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Job, Measured } from "./load.ts";

/** Whether processes are pinned to cores. */
export const isPinned = availableParallelism() > 1 && spawnSync("taskset", ["-V"]).status === 0;

const logFile = join(mkdtempSync(join(tmpdir(), "platform-bench-log-")), "log");
const children = new Set<ChildProcess>();

/** Starts a program of this folder, with standard error into a file, where access logs belong; its first message. */
export async function start<T>(program: string, args: readonly string[], core: number): Promise<T & { stop(): void }> {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, {
    stdio: ["ignore", "inherit", openSync(logFile, "a"), "ipc"],
  });
  children.add(child);
  if (isPinned) spawnSync("taskset", ["-a", "-p", "-c", String(core), String(child.pid)]);
  const message = await new Promise<T>((resolve, reject) => {
    const fail = (code: number | null) =>
      reject(new Error(`${program} ended with status ${code}: ${readFileSync(logFile, "utf8").slice(-2000)}`));
    child.once("exit", fail);
    child.once("message", (value) => {
      child.off("exit", fail);
      resolve(value as T);
    });
  });
  return Object.assign(message as T & object, { stop: () => void child.kill() });
}

/** The load generator. */
export function startLoad(): (job: Job) => Promise<Measured> {
  const child = fork(fileURLToPath(new URL("load.ts", import.meta.url)), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.add(child);
  if (isPinned) spawnSync("taskset", ["-a", "-p", "-c", "1", String(child.pid)]);
  return (job) =>
    new Promise((resolve, reject) => {
      child.once("message", ({ measured, error }: { measured?: Measured; error?: string }) => {
        if (measured === undefined) reject(new Error(`${job.method} ${job.path}: ${error}`));
        else resolve(measured);
      });
      child.send(job);
    });
}

/** Ends all of them. */
export function stopAll(): void {
  rmSync(logFile, { force: true });
  for (const child of children) child.kill("SIGKILL");
}
