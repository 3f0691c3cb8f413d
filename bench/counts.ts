/**
 * Counts what a warm call costs without measuring time: function calls of this repository and its dependencies, and
 * bytes allocated on V8's heap.
 *
 *     node bench/counts.ts             prints both for each call, beside what is recorded in counts.json
 *     node bench/counts.ts --record    records them
 *     node bench/counts.ts rest.get    prints which functions a call consists of
 *
 * The code runs in V8's interpreter, one call at a time, and the client in a thread with a heap of its own. So two runs
 * of the same tree agree within a percent on any machine, which no measurement of time does.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getHeapStatistics } from "node:v8";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import type { Request } from "./load.ts";
import type { RequestName } from "./requests.ts";

/** What a call costs. */
export interface Count {
  readonly functions: number;
  readonly bytes: number;
}

/** The calls that are counted. */
export const countedCalls = [
  "rest.get",
  "connect.get",
  "grpc.get",
  "rest.list50",
  "rest.create",
] as const satisfies RequestName[];

/** V8 without its compilers, and with room for all that is allocated between two counts. */
const interpreted = [
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  "--expose-gc",
  "--min-semi-space-size=128",
  "--max-semi-space-size=128",
];
const batches = 3;
const callsPerBatch = 100;
const repos = 1000;

type Counts = Readonly<Record<(typeof countedCalls)[number], Count>>;

const recordFile = new URL("counts.json", import.meta.url);

/** The counts that are recorded. */
export function recordedCounts(): Counts {
  return JSON.parse(readFileSync(recordFile, "utf8"));
}

/** Counts in a process of its own. */
export function countCalls(): Counts {
  return JSON.parse(inInterpreter("count"));
}

function inInterpreter(task: string): string {
  const args = [...interpreted, fileURLToPath(import.meta.url), "here", task];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`counting ended with status ${status}: ${stderr.slice(-2000)}`);
  return stdout;
}

/** Starts a server, and gives what makes a call to it a number of times. */
async function startCounted() {
  stopTime();
  const { createLogger } = await import("../src/log.ts");
  const { readConfig } = await import("../src/config/index.ts");
  const { startServer } = await import("../src/app/index.ts");
  const { fill } = await import("./data.ts");
  const { requests } = await import("./requests.ts");
  const folder = mkdtempSync(join(tmpdir(), "platform-counts-"));
  const database = `sqlite:${join(folder, "platform.db")}`;
  const flags = { listen: "127.0.0.1:0", adminListen: "127.0.0.1:0", database, issuer: "https://bench.example.com" };
  const rate = { perSecond: 1e6, burst: 1e6 };
  const rates = { rateLimitRead: rate, rateLimitList: rate, rateLimitWrite: rate };
  const config = { ...readConfig({ flags, env: {}, warn: console.error }), ...rates };
  const logger = createLogger("info", { stream: { write: () => {} } });
  const first = await startServer(config, logger);
  const { rootGroupUid: root, administratorUid } = first.installed!;
  await first.stop();
  const repo = await fill(database, join(folder, "peer.db"), root, repos);
  const server = await startServer(config, logger);
  const token = await server.mintToken(administratorUid, 3600);
  const target = { host: "127.0.0.1", port: Number(new URL(server.baseUrl).port), token, root, repo };
  const client = new Worker(new URL(import.meta.url));
  return {
    async call(name: RequestName) {
      client.postMessage(requests[name](target));
      await new Promise((resolve) => client.once("message", resolve));
    },
    async close() {
      await client.terminate();
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function countAll(): Promise<Counts> {
  const { call, close } = await startCounted();
  const counts: Partial<Record<RequestName, Count>> = {};
  for (const name of countedCalls) {
    await call(name);
    const bytes = await lowest(async () => {
      globalThis.gc!();
      const before = getHeapStatistics().used_heap_size;
      await call(name);
      return getHeapStatistics().used_heap_size - before;
    });
    const functions = await lowest(async () => {
      const called = await functionsOf(() => call(name));
      return called.reduce((sum, { count }) => sum + count, 0);
    });
    counts[name] = { functions: Math.round(functions / callsPerBatch), bytes: Math.round(bytes / callsPerBatch) };
  }
  await close();
  return counts as Counts;
}

/** Lets time pass by what is called alone: how long a turn takes decides which way a call goes. */
function stopTime(): void {
  let nowMs = performance.now();
  performance.now = () => {
    nowMs += 0.0005;
    return nowMs;
  };
}

/** The functions of files that are called meanwhile. */
async function functionsOf(run: () => Promise<void>): Promise<{ name: string; count: number }[]> {
  const profiler = new Session();
  profiler.connect();
  await profiler.post("Profiler.enable");
  await profiler.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await run();
  const { result } = await profiler.post("Profiler.takePreciseCoverage");
  profiler.disconnect();
  const root = new URL("..", import.meta.url).href;
  return result.flatMap(({ url, functions }) =>
    url.startsWith("file:")
      ? functions.map(({ functionName, ranges: [range] }) => ({
          name: `${url.replace(root, "")} ${functionName || `(at ${range!.startOffset})`}`,
          count: range!.count,
        }))
      : [],
  );
}

async function printFunctions(name: RequestName): Promise<void> {
  const { call, close } = await startCounted();
  await call(name);
  const called = await functionsOf(() => call(name));
  await close();
  for (const { name, count } of called.sort((a, b) => b.count - a.count))
    if (count >= callsPerBatch / 2)
      console.log(String(Math.round((count * 10) / callsPerBatch) / 10).padStart(7), name);
}

/** The lowest of several results: what happens beside the calls only adds to them. */
async function lowest(count: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < batches; i++) least = Math.min(least, await count());
  return least;
}

/** The middle between the least and the most of several runs: a run differs by up to 2 % from it. */
function middleOf(first: Counts): Counts {
  const runs = [first, ...Array.from({ length: 4 }, countCalls)];
  const middle = (call: keyof Counts, unit: keyof Count) => {
    const values = runs.map((counts) => counts[call][unit]);
    return Math.round((Math.min(...values) + Math.max(...values)) / 2);
  };
  const entries = countedCalls.map((call) => [
    call,
    { functions: middle(call, "functions"), bytes: middle(call, "bytes") },
  ]);
  return Object.fromEntries(entries) as Counts;
}

function printCounts(record: boolean): void {
  const [counts, recorded] = [countCalls(), existsSync(recordFile) ? recordedCounts() : undefined];
  for (const name of countedCalls) {
    const { functions, bytes } = counts[name];
    const before = recorded?.[name];
    const was = before === undefined ? "" : `, recorded: ${before.functions}, ${before.bytes}`;
    console.log(`${name.padEnd(12)} ${functions} functions, ${bytes} bytes${was}`);
  }
  if (record) writeFileSync(recordFile, `${JSON.stringify(middleOf(counts), null, 2)}\n`);
}

const [task = "", named = ""] = process.argv.slice(2);
if (!isMainThread) {
  const { repeat } = await import("./load.ts");
  parentPort!.on("message", async (request: Request) => {
    await repeat(request, callsPerBatch);
    parentPort!.postMessage("done");
  });
} else if (import.meta.main) {
  if (task !== "here") {
    if (task === "" || task === "--record") printCounts(task !== "");
    else process.stdout.write(inInterpreter(task));
  } else if (named === "count") process.stdout.write(JSON.stringify(await countAll()));
  else await printFunctions(named as RequestName);
}
