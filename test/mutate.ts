/**
 * Mutation: changes one place of the sources after the other, and runs the nearest tests, one of which must fail that
 * passes without the change. Places are drawn from all of `src` by a seed, which is printed, at most one of a file; a
 * change that the compiler refuses is left out. It prints the changes that no test notices, and fails when they are
 * more than a tenth. `npm run mutate`, or `npm run mutate -- --places 5 --seed 7`.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { parseAst } from "rolldown/parseAst";
import { startPostgres } from "./databases/postgres.ts";
import { costOf, nearestTests } from "./nearest.ts";
import { putTemporaryFilesInMemory } from "./temporary-files.ts";

const options = { places: { type: "string", default: "60" }, seed: { type: "string" } } as const;
const { places, seed: given } = parseArgs({ options }).values;
const seed = Number(given ?? Date.now() % 2 ** 31);
/** How many files of tests run for a place. */
const most = 6;
/** A process that computes for longer is in an endless loop, which is noticed, too. */
const patienceCpuSeconds = 180;
/** Tests that wait for longer are late: each of them has its own time-out. */
const patienceMs = 1_200_000;
const leastCaught = 0.9;

const root = join(import.meta.dirname, "..");
/** What tests of a run failed; `vitest.config.ts` names it. */
const report = join(root, "node_modules/.cache/test-report.json");

/** A change of one place: from `start` to `end` there is `text` instead. */
interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

const swapped: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&",
  "??": "&&",
};

/** How a node is changed, if it is. */
function changeOf(node: Node, source: string): { start: number; end: number; text: string } | undefined {
  const { type, start, end } = node;
  const textOf = (part: unknown) => source.slice((part as Node).start, (part as Node).end);
  switch (type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const operator = swapped[node.operator as string];
      if (operator === undefined) return undefined;
      return { start, end, text: `(${textOf(node.left)}) ${operator} (${textOf(node.right)})` };
    }
    case "UnaryExpression":
      return node.operator === "!" ? { start, end, text: `(${textOf(node.argument)})` } : undefined;
    case "Literal":
      if (typeof node.value === "boolean") return { start, end, text: String(!node.value) };
      return typeof node.value === "number" ? { start, end, text: String(node.value + 1) } : undefined;
    case "IfStatement":
    case "ConditionalExpression": {
      const test = node.test as Node;
      // These are negated already by a change of their own.
      if (/^([!=]==|!)$/.test(String(test.operator))) return undefined;
      return { start: test.start, end: test.end, text: `!(${textOf(test)})` };
    }
    case "ReturnStatement":
      if (node.argument === null || textOf(node.argument) === "undefined") return undefined;
      return { start, end, text: "return undefined as never;" };
    case "ArrowFunctionExpression": {
      const body = node.body as Node;
      if (body.type === "BlockStatement" || textOf(body) === "undefined") return undefined;
      return { start: body.start, end: body.end, text: "(undefined as never)" };
    }
    case "ExpressionStatement":
      return { start, end, text: ";" };
    default:
      return undefined;
  }
}

/** Every change of a file. */
function mutantsOf(file: string): Mutant[] {
  const source = readFileSync(join(root, file), "utf8");
  const found: Mutant[] = [];
  function visit(node: Node): void {
    const change = changeOf(node, source);
    if (change !== undefined) found.push({ file, ...change });
    for (const part of Object.values(node).flat()) if (isNode(part) && !isOfTypes(part)) visit(part);
  }
  visit(parseAst(source, { lang: "ts" }) as unknown as Node);
  return found;
}

/** Whether a node is there for the compiler alone, and no expression with its type. */
function isOfTypes({ type }: Node): boolean {
  return type.startsWith("TS") && !/^TS(As|Satisfies|NonNull)/.test(type);
}

/** Applies changes of different files, until the function that it returns is called. */
function apply(mutants: readonly Mutant[]): () => void {
  const sources = new Map(mutants.map(({ file }) => [file, readFileSync(join(root, file), "utf8")]));
  const restore = () => {
    for (const [file, source] of sources) writeFileSync(join(root, file), source);
    process.off("exit", restore);
  };
  process.on("exit", restore);
  for (const { file, start, end, text } of mutants) {
    const source = sources.get(file)!;
    writeFileSync(join(root, file), source.slice(0, start) + text + source.slice(end));
  }
  return restore;
}

/** Those in whose files the compiler finds no error. They are of different files. */
function compiling(mutants: readonly Mutant[]): Mutant[] {
  const restore = apply(mutants);
  const { stdout } = spawnSync("tsc", ["--noEmit", "--pretty", "false"], { cwd: root, encoding: "utf8" });
  restore();
  const broken = new Set(stdout.split("\n").map((line) => line.replace(/\(.*/, "")));
  return mutants.filter(({ file }) => !broken.has(file));
}

/** A file of tests that failed, and what it says. */
interface Failure {
  readonly test: string;
  readonly message: string;
}

/** Runs tests. Returns those that fail: the first, or all when the run breaks or is late. */
async function failing(tests: readonly string[]): Promise<readonly Failure[]> {
  rmSync(report, { force: true });
  const args = ["run", "--project", "!campaigns", "--bail", "1", "--maxWorkers", "1"];
  const command = `ulimit -t ${patienceCpuSeconds}; exec vitest "$@"`;
  const child = spawn("sh", ["-c", command, "sh", ...args, ...tests], { cwd: root, stdio: "ignore", detached: true });
  const end = () => process.kill(-child.pid!, "SIGKILL");
  const late = setTimeout(end, patienceMs);
  process.on("exit", end);
  const [status, signal] = await once(child, "exit");
  process.off("exit", end);
  clearTimeout(late);
  if (status === 0) return [];
  const failures = failuresOfReport();
  return failures.length > 0 ? failures : tests.map((test) => ({ test, message: `ends with ${signal ?? status}` }));
}

/** What failed by the report, if there is one. */
function failuresOfReport(): Failure[] {
  if (!existsSync(report)) return [];
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as { testResults: FileResult[] };
  return testResults
    .filter(({ status }) => status === "failed")
    .map(({ name, message, assertionResults }) => {
      const [text] = [...assertionResults.flatMap((one) => one.failureMessages ?? []), message];
      return { test: relative(root, name), message: text!.split("\n")[0]! };
    });
}

interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly { readonly failureMessages?: readonly string[] }[];
}

/** Tests that pass without a change. */
const sound = new Set<string>();

/**
 * Which of the nearest tests notice a change, the cheap ones before the others. Those that fail without it, too, are
 * printed, and do not count.
 */
async function noticing(mutant: Mutant): Promise<readonly Failure[]> {
  const byCost = Map.groupBy(nearestTests(mutant.file).slice(0, most), costOf);
  for (const [, tests] of [...byCost].sort(([a], [b]) => a - b)) {
    const restore = apply([mutant]);
    const failures = await failing(tests).finally(restore);
    const doubtful = failures.map(({ test }) => test).filter((test) => !sound.has(test));
    const broken = new Map(doubtful.length === 0 ? [] : (await failing(doubtful)).map((one) => [one.test, one]));
    for (const test of doubtful) if (!broken.has(test)) sound.add(test);
    for (const { test, message } of broken.values()) console.log(`fails without a change: ${test}: ${message}`);
    const noticed = failures.filter(({ test }) => !broken.has(test));
    if (noticed.length > 0) return noticed;
  }
  return [];
}

function describe({ file, start, end, text }: Mutant): string {
  const source = readFileSync(join(root, file), "utf8");
  const line = source.slice(0, start).split("\n").length;
  const shown = (code: string) => code.replace(/\s+/g, " ").slice(0, 120);
  return `${file}:${line}: ${shown(source.slice(start, end))} → ${shown(text)}`;
}

// What is changed is written back; after a run that was killed, by `git checkout src`.
execFileSync("git", ["diff", "--quiet", "HEAD", "--", "src"], { cwd: root });
putTemporaryFilesInMemory(); // of runs that are killed, too
const all = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .flatMap((path) => mutantsOf(`src/${path}`));
const size = { minLength: all.length, maxLength: all.length };
const shuffled = fc.sample(fc.shuffledSubarray(all, size), { seed, numRuns: 1 })[0]!;
const ofEachFile = [...Map.groupBy(shuffled, ({ file }) => file).values()].map(([first]) => first!);
const drawn = compiling(ofEachFile.slice(0, 2 * Number(places))).slice(0, Number(places));
console.log(`${drawn.length} of ${all.length} places, seed ${seed}`);
const { url, stop } = await startPostgres(); // one for all runs
process.env.TEST_POSTGRES_URL = url;
let caught = 0;
for (const mutant of drawn) {
  const [failure] = await noticing(mutant);
  if (failure === undefined) console.log(`SURVIVES ${describe(mutant)}`);
  else {
    caught++;
    console.log(`caught   ${describe(mutant)} by ${failure.test}: ${failure.message}`);
  }
}
await stop();
console.log(`${caught} of ${drawn.length} caught, seed ${seed}`);
if (caught < leastCaught * drawn.length) process.exitCode = 1;
