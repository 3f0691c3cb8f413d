/** The processes of a run: servers on one core, the load generator on another, if the system can pin them. */
import { type ChildProcess, type ForkOptions, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Load } from "./latency.ts";
import type { Job, Measured } from "./load.ts";

/** Whether processes are pinned to cores. Not where a server may use all of them. */
export const isPinned =
  availableParallelism() > 1 &&
  !process.argv.some((option) => ["--soak", "--overload", "--pgbench"].includes(option)) &&
  spawnSync("taskset", ["-V"]).status === 0;

/** Temporary folder of the run, for databases and logs. */
export const folder = mkdtempSync(join(tmpdir(), "platform-bench-"));

const children: ChildProcess[] = [];
const logs: string[] = [];

/** A server process. */
export interface Running {
  readonly pid: number;
  /** Sends a message and returns the answer. */
  ask<T>(question: string): Promise<T>;
  stop(): void;
}

/** Starts a server program with its standard error, the access log, in a file. Returns its first message. */
export async function start<T>(
  program: string,
  args: readonly string[],
  options: { readonly execArgv?: string[]; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<T & Running> {
  const log = join(folder, `${children.length}.log`);
  const child = run(program, args, 0, openSync(log, "a"), options);
  logs.push(log);
  const ended = once(child, "exit").then(([code]): never => {
    throw new Error(`${program} ended with status ${code}: ${readFileSync(log, "utf8").slice(-2000)}`);
  });
  ended.catch(() => {}); // it may end after its last message
  const next = async <A>() => (await Promise.race([once(child, "message"), ended]))[0] as A;
  const ask = <A>(question: string) => {
    child.send(question);
    return next<A>();
  };
  return { ...(await next<T>()), pid: child.pid!, ask, stop: () => child.kill("SIGKILL") };
}

/** Starts a server that is no program for Node. Its first line of output is JSON, and is returned. */
export async function startNative<T>(program: string, args: readonly string[]): Promise<T> {
  const log = join(folder, `${children.length}.log`);
  logs.push(log);
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", openSync(log, "a")],
    env: { ...process.env, GOMAXPROCS: "1" },
  });
  children.push(child);
  pin(child, 0);
  const [line] = await once(createInterface(child.stdout!), "line");
  return JSON.parse(line);
}

/** Starts the load generator. */
export function startLoad(): (job: Job) => Promise<Measured> {
  const child = run("load.ts", [], 1, "inherit");
  const waiting: { job: Job; promise: PromiseWithResolvers<Measured> }[] = [];
  child.on("message", ({ id, measured, error }: { id: number; measured?: Measured; error?: string }) => {
    const { job, promise } = waiting[id]!;
    if (measured === undefined) promise.reject(new Error(`${job.method} ${job.path}: ${error}`));
    else promise.resolve(measured);
  });
  return (job) => {
    const promise = Promise.withResolvers<Measured>();
    child.send({ id: waiting.push({ job, promise }) - 1, job });
    return promise.promise;
  };
}

function run(
  program: string,
  args: readonly string[],
  core: number,
  errors: number | "inherit",
  options: Pick<ForkOptions, "execArgv" | "env"> = {},
): ChildProcess {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, {
    ...options,
    stdio: ["ignore", "inherit", errors, "ipc"],
  });
  children.push(child);
  pin(child, core);
  return child;
}

function pin({ pid }: ChildProcess, core: number): void {
  if (isPinned) spawnSync("taskset", ["-a", "-p", "-c", String(core), String(pid)]);
}

/** The answers to expensive calls: 200, and others. */
export interface ExpensiveAnswers {
  readonly served: number;
  readonly refused: number;
}

/** The most expensive list. */
export const expensivePath = "/vulnerabilities/v2/advisories?page_size=50&query=ghsa";

/** Starts a process that makes an expensive call until the returned function ends it: see `expensive-load.ts`. */
export function startExpensiveLoad(
  kind: "loop" | "cancel",
  { port, token, path }: Load,
  connections = 4,
): () => Promise<ExpensiveAnswers> {
  const child = run("expensive-load.ts", [kind, String(port), token, path, String(connections)], 1, "inherit");
  return () => {
    const { promise, resolve } = Promise.withResolvers<ExpensiveAnswers>();
    child.once("message", resolve);
    child.kill("SIGTERM");
    return promise;
  };
}

/** Empties the access logs, which would fill the disk at full load. */
export function emptyLogs(): void {
  for (const log of logs) truncateSync(log);
}

/** Kills all processes. */
export function stopAll(): void {
  for (const child of children) child.kill("SIGKILL");
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("exit", () => {
  stopAll();
  rmSync(folder, { recursive: true, force: true });
});
