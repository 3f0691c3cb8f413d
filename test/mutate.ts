/**
 * Mutation: changes one place of the sources after the other, and runs the nearest tests, which must fail. Places are
 * drawn from all of `src` by a seed, which is printed. It prints the changes that no test notices, and fails when they
 * are more than a tenth. `npm run mutate`, or `npm run mutate -- --places 5 --seed 7`.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { parseAst } from "rolldown/parseAst";
import { nearestTests } from "./nearest.ts";

const options = { places: { type: "string", default: "60" }, seed: { type: "string" } } as const;
const { places, seed: given } = parseArgs({ options }).values;
const seed = Number(given ?? Date.now() % 2 ** 31);
/** How many files of tests run for a place. */
const most = 6;
/** A change that makes tests run for longer is noticed, too. */
const patienceMs = 300_000;
const leastCaught = 0.9;

const root = join(import.meta.dirname, "..");

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
      return node.operator === "!" ? { start, end, text: textOf(node.argument) } : undefined;
    case "Literal":
      if (typeof node.value === "boolean") return { start, end, text: String(!node.value) };
      return typeof node.value === "number" ? { start, end, text: String(node.value + 1) } : undefined;
    case "IfStatement":
    case "ConditionalExpression": {
      const test = node.test as Node;
      return { start: test.start, end: test.end, text: `!(${textOf(test)})` };
    }
    case "ReturnStatement":
      return node.argument === null ? undefined : { start, end, text: "return undefined as never;" };
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

/** Runs tests. Returns whether all of them pass, in time. */
async function pass(tests: readonly string[], patienceMs: number): Promise<boolean> {
  const args = ["run", "--project", "!campaigns", "--bail", "1", ...tests];
  const child = spawn("vitest", args, { cwd: root, stdio: "ignore", detached: true });
  // A worker in an endless loop takes no other signal, so that all of the group get it.
  const late = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), patienceMs);
  const [status] = await once(child, "exit");
  clearTimeout(late);
  return status === 0;
}

/** Runs the nearest tests of a changed file. Returns whether one of them notices. */
async function isCaught({ file, start, end, text }: Mutant): Promise<boolean> {
  const source = readFileSync(join(root, file), "utf8");
  try {
    writeFileSync(join(root, file), source.slice(0, start) + text + source.slice(end));
    return !(await pass(nearestTests(file).slice(0, most), patienceMs));
  } finally {
    writeFileSync(join(root, file), source);
  }
}

function describe({ file, start, end, text }: Mutant): string {
  const source = readFileSync(join(root, file), "utf8");
  const line = source.slice(0, start).split("\n").length;
  return `${file}:${line}: ${source.slice(start, end)} → ${text}`.replace(/\s+/g, " ");
}

// What is changed is written back, and an interrupted run is repaired by `git checkout src`.
execFileSync("git", ["diff", "--quiet", "HEAD", "--", "src"], { cwd: root });
const all = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .flatMap((path) => mutantsOf(`src/${path}`));
const size = { minLength: Number(places), maxLength: Number(places) };
const drawn = fc.sample(fc.shuffledSubarray(all, size), { seed, numRuns: 1 })[0]!;
console.log(`${drawn.length} of ${all.length} places, seed ${seed}`);
const near = new Set(drawn.flatMap(({ file }) => nearestTests(file).slice(0, most)));
if (!(await pass([...near], near.size * patienceMs)))
  throw new Error(`a test fails without a change: ${[...near].join(" ")}`);
const survivors: Mutant[] = [];
for (const mutant of drawn) {
  const caught = await isCaught(mutant);
  console.log(`${caught ? "caught  " : "SURVIVES"} ${describe(mutant)}`);
  if (!caught) survivors.push(mutant);
}
const caught = drawn.length - survivors.length;
console.log(`${caught} of ${drawn.length} caught, seed ${seed}`);
if (caught < leastCaught * drawn.length) process.exitCode = 1;
