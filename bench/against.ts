/**
 * Compares this working tree with another commit. Both are started anew several times: V8 compiles the same program to
 * code that differs by several percent from start to start. Of each start every row is measured in turns, and then what
 * a call costs and allocates.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkOut } from "./commit.ts";
import type { Job, Measured } from "./load.ts";
import { emptyLogs, folder, type Running, start } from "./processes.ts";
import { cpuMsOf } from "./program.ts";
import { type RequestName, requests, type Target } from "./requests.ts";
import { percentile, printFigure, round2 } from "./table.ts";

/** How much is measured. */
interface Amount {
  readonly starts: number;
  /** Pairs of measurements of each row in each start. */
  readonly turns: number;
}

const compared: readonly RequestName[] = [
  "rest.get",
  "rest.list50",
  "connect.get",
  "connect.list50",
  "grpc.get",
  "grpc.list50",
  "rest.create",
];
const repos = 100_000;
const concurrency = 32;
const turn = { durationMs: 400, warmUpMs: 100 };
const countedRun = { durationMs: 1000, warmUpMs: 0 };
const firstWarmUp = { untilSteady: true, warmUpMs: 7_000, durationMs: 0 };
const recorder = fileURLToPath(new URL("allocation-recorder.ts", import.meta.url));

/** What one side has cost in the measurements of a row in one start. */
interface Cost {
  readonly perSecond: number;
  /** Microseconds of CPU time per call. */
  readonly cpuUs: number;
  /** Bytes allocated on V8's heap per call. */
  readonly allocated: number;
}

/** The installed database of a side, with what its servers are started with. */
export interface Side {
  readonly name: string;
  readonly program: string;
  readonly url: string;
  readonly administrator: string;
  readonly root: string;
  readonly repo: string;
}

/** A running server of a side. */
export type Server = Target & Running;

const allocationsFile = join(folder, "allocations");

/** Compares, and prints for each row both sides and the ratio of ours to the other. */
export async function compareCommits(
  reference: string,
  load: (job: Job) => Promise<Measured>,
  only: string | undefined,
  { starts, turns }: Amount,
): Promise<void> {
  const commit = checkOut(reference);
  const here = fileURLToPath(new URL("..", import.meta.url));
  const sides = [await install("this tree", here), await install(commit.name, commit.path)] as const;
  const rows = compared.filter((row) => only === undefined || row.includes(only));
  const costs = new Map(rows.map((row) => [row, [] as (readonly [Cost, Cost])[]]));
  for (let i = 0; i < starts; i++) {
    const both =
      i % 2 === 0
        ? [await counted(sides[0]), await counted(sides[1])]
        : [await counted(sides[1]), await counted(sides[0])].reverse();
    for (const row of rows) {
      costs.get(row)!.push(await measureTurns(row, both as [Server, Server], load, turns));
      emptyLogs();
    }
    for (const { stop } of both) stop();
  }
  console.log(`this tree against ${commit.name}: the median of ${starts} starts, and their spread`);
  for (const [row, pairs] of costs) print(row, pairs);
}

/** Fills a database by the program of a commit. */
export async function install(name: string, path: string): Promise<Side> {
  const data = join(folder, `side-${name.replaceAll(" ", "-")}`);
  mkdirSync(data);
  const url = `sqlite:${join(data, "platform.db")}`;
  const program = join(path, "bench/peers/platform.ts");
  type Installed = { root: string; administrator: string };
  const { root, administrator } = await start<Installed>(program, [url, "initialise"]);
  const filling = [path, url, join(data, "peer.db"), root, String(repos)];
  const { repo } = await start<{ repo: string }>("fill-commit.ts", filling);
  return { name, program, url, administrator, root, repo };
}

/** Starts the server of a side, with a module that is loaded before it and variables for that. */
export async function serve(
  { program, url, administrator, root, repo }: Side,
  recorder: string,
  variables: NodeJS.ProcessEnv,
): Promise<Server> {
  const options = { execArgv: [`--import=${recorder}`], env: { ...process.env, ...variables } };
  const ready = await start<{ port: number; token: string }>(program, [url, administrator], options);
  return { ...ready, host: "127.0.0.1", root, repo };
}

function counted(side: Side): Promise<Server> {
  return serve(side, recorder, { ALLOCATIONS_FILE: allocationsFile });
}

async function measureTurns(
  row: RequestName,
  both: readonly [Server, Server],
  load: (job: Job) => Promise<Measured>,
  turns: number,
): Promise<readonly [Cost, Cost]> {
  const measure = (side: Server, times: Pick<Job, "durationMs" | "warmUpMs">) =>
    load({ ...requests[row](side), concurrency, ...times });
  for (const side of both) await measure(side, firstWarmUp);
  const sums = both.map(() => ({ perSecond: 0, cpuMs: 0, answers: 0 }));
  for (let i = 0; i < turns; i++) {
    for (const which of i % 2 === 0 ? [0, 1] : [1, 0]) {
      const [side, sum] = [both[which]!, sums[which]!];
      const beforeMs = cpuMsOf(side.pid);
      const { perSecond, answers } = await measure(side, turn);
      sum.cpuMs += cpuMsOf(side.pid) - beforeMs;
      sum.perSecond += perSecond;
      sum.answers += answers;
    }
  }
  const allocated: number[] = [];
  for (const side of both) allocated.push(await allocatedPerCall(side, () => measure(side, countedRun)));
  const [ours, theirs] = sums.map(
    ({ perSecond, cpuMs, answers }, i): Cost => ({
      perSecond: perSecond / turns,
      cpuUs: (cpuMs * 1000) / answers,
      allocated: allocated[i]!,
    }),
  );
  return [ours!, theirs!];
}

async function allocatedPerCall(server: Server, run: () => Promise<Measured>): Promise<number> {
  const { answers, text } = await recordedDuring(server, allocationsFile, run);
  return Number(text) / answers;
}

/** What the recorder in a server writes to its file about a run, and how many answers the run had. */
export async function recordedDuring(
  { pid }: Server,
  file: string,
  run: () => Promise<Measured>,
): Promise<{ readonly answers: number; readonly text: string }> {
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  const { answers } = await run();
  process.kill(pid, "SIGUSR2");
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
  return { answers, text: readFileSync(file, "utf8") };
}

function print(row: RequestName, pairs: readonly (readonly [Cost, Cost])[]): void {
  const ratios = pairs.map(([ours, theirs]) => ours.perSecond / theirs.perSecond);
  const middle = (figure: keyof Cost, side: 0 | 1) =>
    percentile(
      pairs.map((pair) => pair[side][figure]),
      0.5,
    );
  const both = (figure: keyof Cost) => `${round2(middle(figure, 0))}, ${round2(middle(figure, 1))}`;
  printFigure(
    row,
    round2(percentile(ratios, 0.5)),
    `${round2(Math.min(...ratios))}–${round2(Math.max(...ratios))}`,
    `CPU ${both("cpuUs")} µs, heap ${Math.round(middle("allocated", 0))}, ${Math.round(middle("allocated", 1))} bytes per call`,
  );
}
