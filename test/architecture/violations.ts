/** The rules of the source tree, and of what is beside it, told by their imports. */
import { dirname, join, posix } from "node:path";

/**
 * For each module, in order of level, the modules it may import. Files directly in `src` are leaves, and open to all.
 */
export type ModuleTable = Readonly<Record<string, readonly string[]>>;

/** The text of files by path, as `src/rest/index.ts`. */
export type Sources = ReadonlyMap<string, string>;

const maxLines = 400;
const maxFilesOfFolder = 20;
/** Modules that know no service of this platform, whose generated code is in `gen/platform`. */
const domainFree: ReadonlySet<string> = new Set(["codec", "versions", "http", "call", "rpc", "rest", "store"]);
const databaseDrivers: ReadonlySet<string> = new Set(["kysely", "pg", "node:sqlite"]);
/** What browsers load of this repository: the console itself, the client, and what reads the contract. */
const loadedByBrowsers = /^(console|gen|src\/remote\/catalog)\/|^src\/(client\/index|uid)\.ts$/;
/** What is loaded before the program, and must not load it. */
const loadedAlone = "src/app/garbage-collection.ts";

/** Every violation, one line each, sorted. */
export function violationsOf(sources: Sources, modules: ModuleTable): string[] {
  const imports = new Map([...sources].map(([path, text]) => [path, importsOf(path, text)]));
  const files = knownFiles(imports, sources);
  return [
    ...unknownModules(sources, modules),
    ...upwards(modules),
    ...[...imports].flatMap(([path, { files, packages }]) => [
      ...files.flatMap((file) => forbidden(path, file, modules)),
      ...packages
        .filter((name) => databaseDrivers.has(name) && moduleOf(path) !== "store")
        .map((name) => `${path} imports ${name}: only store knows databases`),
    ]),
    ...fileCycles(files),
    ...cyclesOf(foldersOf(files)).map((cycle) => `folders in a cycle: ${cycle.join(", ")}`),
    ...sizes(sources),
  ].sort();
}

/** Those of the console, of tests and their helpers, of the benchmark and of packages. */
export function violationsBeside(sources: Sources): string[] {
  const imports = new Map([...sources].map(([path, text]) => [path, importsOf(path, text)]));
  const ofConsole = [...imports].filter(([path]) => path.startsWith("console/"));
  return [
    ...ofConsole.flatMap(([path, { files }]) =>
      files
        .filter((file) => !loadedByBrowsers.test(file))
        .map((file) => `${path} imports ${file}: the console may not use it`),
    ),
    ...fileCycles(knownFiles(imports, sources)),
    ...sizes(new Map([...sources].filter(([path]) => path.startsWith("console/")))),
  ].sort();
}

type Imports = ReadonlyMap<string, { readonly files: readonly string[] }>;

/** What each file imports of the sources. */
function knownFiles(imports: Imports, sources: Sources): Map<string, string[]> {
  return new Map([...imports].map(([path, { files }]) => [path, files.filter((file) => sources.has(file))]));
}

function fileCycles(files: ReadonlyMap<string, readonly string[]>): string[] {
  return cyclesOf(files).map((cycle) => `files in a cycle: ${cycle.join(", ")}`);
}

/** `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`, as the formatter writes them. */
const importPattern = /(?<![\w.])(?:from|import)\s*\(?\s*"([^"]+)"/g;

/** What a file imports, types and `import()` included: files by path, and packages by name. */
export function importsOf(path: string, text: string): { files: string[]; packages: string[] } {
  const names = [...text.matchAll(importPattern)].map(([, name]) => name!.replace(/\?\w+$/, "")); // of Vite: `?worker`
  return {
    files: names.filter((name) => name.startsWith(".")).map((name) => posix.normalize(join(dirname(path), name))),
    packages: names.filter((name) => !name.startsWith(".")),
  };
}

/** `rest` for `src/rest/index.ts`, `errors.ts` for `src/errors.ts`. */
function moduleOf(path: string): string {
  return path.split("/")[1]!;
}

function isLeaf(path: string): boolean {
  return dirname(path) === "src";
}

function unknownModules(sources: Sources, modules: ModuleTable): string[] {
  const found = new Set([...sources.keys()].filter((path) => !isLeaf(path)).map(moduleOf));
  return [...found].filter((name) => !(name in modules)).map((name) => `src/${name} is not a module of the table`);
}

/** The table is in order of level, so that it has no cycle. */
function upwards(modules: ModuleTable): string[] {
  const order = Object.keys(modules);
  return Object.entries(modules).flatMap(([name, used]) =>
    used
      .filter((other) => !(order.indexOf(other) >= 0 && order.indexOf(other) < order.indexOf(name)))
      .map((other) => `the table lets ${name} use ${other}, which does not come before it`),
  );
}

function forbidden(from: string, to: string, modules: ModuleTable): string[] {
  const [user, used] = [moduleOf(from), moduleOf(to)];
  if (to.startsWith("gen/"))
    return domainFree.has(user) && to.startsWith("gen/platform/")
      ? [`${from} imports ${to}: ${user} knows no domain`]
      : [];
  if (!to.startsWith("src/")) return [`${from} imports ${to}, outside src`];
  if (user === used || to === loadedAlone) return [];
  if (isLeaf(to)) return used === "main.ts" ? [`${from} imports ${to}`] : [];
  if (isLeaf(from) && !(user in modules)) return [`${from} imports ${to}: a leaf uses only leaves`];
  if (!modules[user]?.includes(used)) return [`${from} imports ${to}: ${user} may not use ${used}`];
  return to === `src/${used}/index.ts` ? [] : [`${from} imports ${to}, not src/${used}/index.ts`];
}

/**
 * The folders of a module, by the imports of their files; the folder of the module itself may use its parts and be used
 * by them.
 */
function foldersOf(files: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  const isPart = (path: string) => path.split("/").length > 3;
  for (const [path, imported] of files) {
    if (!isPart(path)) continue;
    const others = imported
      .filter((file) => isPart(file) && dirname(file) !== dirname(path))
      .map((file) => dirname(file));
    folders.set(dirname(path), [...(folders.get(dirname(path)) ?? []), ...others]);
  }
  return folders;
}

/** Sets of nodes that reach each other, by Tarjan's algorithm. */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const indexes = new Map<string, number>();
  const lows = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (node: string): number => {
    const index = indexes.size;
    indexes.set(node, index);
    lows.set(node, index);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      const low = indexes.has(next) ? (stack.includes(next) ? indexes.get(next)! : index) : visit(next);
      lows.set(node, Math.min(lows.get(node)!, low));
    }
    if (lows.get(node) === index) {
      const cycle = stack.splice(stack.indexOf(node)).sort();
      if (cycle.length > 1) cycles.push(cycle);
    }
    return lows.get(node)!;
  };
  for (const node of graph.keys()) if (!indexes.has(node)) visit(node);
  return cycles;
}

function sizes(sources: Sources): string[] {
  const long = [...sources].flatMap(([path, text]) => {
    const lines = text.split("\n").length - 1;
    return lines > maxLines ? [`${path} has ${lines} lines, more than ${maxLines}`] : [];
  });
  const counts = new Map<string, number>();
  // Migrations are never removed.
  for (const path of sources.keys())
    if (!/\/\d{4}-/.test(path)) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const full = [...counts].flatMap(([folder, count]) =>
    count > maxFilesOfFolder ? [`${folder} has ${count} files, more than ${maxFilesOfFolder}`] : [],
  );
  return [...long, ...full];
}
