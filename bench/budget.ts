/**
 * What each step of a call costs: microseconds of CPU time, and bytes allocated on V8's heap. Both are sampled in a
 * server under load. A sample counts for the step of the innermost function of this repository or its packages; where
 * there is none, for Node's own work.
 */
import type { Runtime } from "node:inspector";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { install, recordedDuring, type Server, type Side, serve } from "./against.ts";
import { checkOut } from "./commit.ts";
import { writeSection } from "./docs.ts";
import type { Job, Measured } from "./load.ts";
import { emptyLogs, folder } from "./processes.ts";
import type { Profiles } from "./profile-recorder.ts";
import { cpuMsOf } from "./program.ts";
import { type RequestName, requests } from "./requests.ts";

const calls = ["rest.get", "connect.get", "grpc.get", "rest.list50", "rest.create"] as const satisfies RequestName[];
const concurrency = 32;
const warmUp = { untilSteady: true, warmUpMs: 8_000, durationMs: 2_000 };
const measured = { warmUpMs: 0, durationMs: 5_000 };

/** The steps, with the beginnings of the paths of their sources; the first that fits counts. */
const steps: readonly (readonly [step: string, ...paths: readonly string[]])[] = [
  ["sockets, HTTP, turns", "src/http"],
  ["protocol", "src/rest", "src/rpc", "src/message"],
  ["messages", "src/codec", "src/bytes", "node_modules/@bufbuild"],
  ["log and metrics", "src/log", "src/metrics", "src/histogram", "src/tracing", "src/trace-", "src/pipeline/observers"],
  ["log and metrics", "node_modules/pino", "node_modules/sonic-boom"],
  ["limits", "src/pipeline/limit", "src/token-buckets", "src/fairness", "src/quotas"],
  ["call", "src/call", "src/pipeline", "src/awaitable", "src/contract", "src/translation", "node_modules/@connectrpc"],
  ["authorization", "src/auth", "src/services/iam/auth", "src/lru-map", "src/uid"],
  ["events and audit", "src/delivery", "src/audit"],
  ["handler", "src/resource", "src/services", "src/new-uid", "src/sealing", "src/errors"],
  ["database", "src/store"],
  ["server", "src/app"],
];
const ofNode = "Node's own";
const ofCollector = "garbage collector";
const allSteps = [...new Set([...steps.map(([step]) => step), ofNode, ofCollector])];

/** What a call costs, in all or in a step. */
interface Cost {
  us: number;
  bytes: number;
}

type Costs = ReadonlyMap<string, Cost>;

const page = new URL("../docs/internals/budget.md", import.meta.url);
const begin = "<!-- budget: written by npm run bench -- --budget -->";
const end = "<!-- end of budget -->";

/** Measures this working tree, and another commit before it if there is one, and writes both to the page. */
export async function measureBudget(
  reference: string | undefined,
  load: (job: Job) => Promise<Measured>,
): Promise<void> {
  const here = { name: "this tree", path: fileURLToPath(new URL("..", import.meta.url)) };
  const trees = [...(reference === undefined ? [] : [checkOut(reference)]), here];
  const budgets: Map<RequestName, Costs>[] = [];
  for (const { name, path } of trees) budgets.push(await measureTree(await install(name, path), path, load));
  const names = trees.map(({ name }) => name);
  const text = calls
    .map((call) =>
      tableOf(
        call,
        names,
        budgets.map((budget) => budget.get(call)!),
      ),
    )
    .join("\n");
  console.log(text);
  writeSection(page, begin, end, text);
}

async function measureTree(
  side: Side,
  path: string,
  load: (job: Job) => Promise<Measured>,
): Promise<Map<RequestName, Costs>> {
  const profilesFile = join(folder, "profiles");
  const recorder = fileURLToPath(new URL("profile-recorder.ts", import.meta.url));
  const server = await serve(side, recorder, { PROFILES_FILE: profilesFile });
  const budget = new Map<RequestName, Costs>();
  for (const call of calls) {
    const run = (times: typeof measured) => load({ ...requests[call](server), concurrency, ...times });
    await run(warmUp);
    const beforeMs = cpuMsOf(server.pid);
    const { answers } = await run(measured);
    const us = ((cpuMsOf(server.pid) - beforeMs) * 1000) / answers;
    budget.set(call, await sample(server, profilesFile, path, () => run(measured), us));
    emptyLogs();
  }
  server.stop();
  return budget;
}

/** Samples a run. `us`: the CPU time of a call without sampling. */
async function sample(
  server: Server,
  file: string,
  root: string,
  run: () => Promise<Measured>,
  us: number,
): Promise<Costs> {
  const { answers, text } = await recordedDuring(server, file, run);
  const { time, memory } = JSON.parse(text) as Profiles;
  const costs = new Map(allSteps.map((step) => [step, { us: 0, bytes: 0 }]));
  const nodes = new Map(time.nodes.map((node) => [node.id, node]));
  const stepOfNode = new Map<number, string>();
  const visit = (id: number, above: string): void => {
    const { callFrame, children = [] } = nodes.get(id)!;
    const step = stepOf(callFrame, above, root);
    stepOfNode.set(id, step);
    for (const child of children) visit(child, step);
  };
  visit(time.nodes[0]!.id, ofNode);
  let totalUs = 0;
  time.samples!.forEach((id, i) => {
    if (nodes.get(id)!.callFrame.functionName === "(idle)") return;
    const tookUs = time.timeDeltas![i + 1] ?? 0;
    costs.get(stepOfNode.get(id)!)!.us += tookUs;
    totalUs += tookUs;
  });
  const visitMemory = ({ callFrame, selfSize, children }: Profiles["memory"]["head"], above: string): void => {
    const step = stepOf(callFrame, above, root);
    costs.get(step)!.bytes += selfSize / answers;
    for (const child of children) visitMemory(child, step);
  };
  visitMemory(memory.head, ofNode);
  for (const cost of costs.values()) cost.us *= us / totalUs;
  return costs;
}

/** The step of a function; that of its caller for one of Node's. Errors: a plain Error for a source without a step. */
function stepOf({ url, functionName }: Runtime.CallFrame, above: string, root: string): string {
  if (functionName === "(garbage collector)") return ofCollector;
  if (!url.startsWith("file:")) return above;
  const path = fileURLToPath(url);
  const source = path.includes("node_modules/")
    ? path.slice(path.lastIndexOf("node_modules/"))
    : path.slice(root.length);
  const relative = source.replace(/^\//, "");
  const found = steps.find(([, ...paths]) => paths.some((prefix) => relative.startsWith(prefix)));
  if (found !== undefined) return found[0];
  if (relative.startsWith("src/")) throw new Error(`${relative} belongs to no step: add it to bench/budget.ts`);
  return ofNode; // the peer's program, which only starts the server
}

function tableOf(call: RequestName, names: readonly string[], budgets: readonly Costs[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const figures = (cost: Cost) => [cost.us.toFixed(2), String(Math.round(cost.bytes))];
  const total = (costs: Costs) =>
    [...costs.values()].reduce((sum, { us, bytes }) => ({ us: sum.us + us, bytes: sum.bytes + bytes }), {
      us: 0,
      bytes: 0,
    });
  const rows = allSteps
    .filter((step) => budgets.some((costs) => costs.get(step)!.us > 0.005))
    .map((step) => line([step, ...budgets.flatMap((costs) => figures(costs.get(step)!))]));
  return [
    `### \`${call}\``,
    "",
    line(["step", ...names.flatMap((name) => [`${name}: µs`, "bytes"])]),
    line(["---", ...names.flatMap(() => ["---", "---"])]),
    ...rows,
    line(["**all**", ...budgets.flatMap((costs) => figures(total(costs)).map((figure) => `**${figure}**`))]),
    "",
  ].join("\n");
}
