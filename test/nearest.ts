/** Which tests are nearest to a file: a mistake in it fails one of them, and they are few. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { importsOf } from "./architecture/violations.ts";

const root = join(import.meta.dirname, "..");

/** The text of every module, by its path in the checkout. */
const modules: ReadonlyMap<string, string> = new Map(
  ["src", "gen", "console/src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => [`${folder}/${path}`, readFileSync(join(root, folder, path), "utf8")] as const),
  ),
);

/** What `npm test` runs, campaigns in their short form included. */
const tests = [...modules.keys()].filter((path) => /(?<!\.long)\.test\.ts$/.test(path));

/** What imports a module, by the paths of both. */
const importers: ReadonlyMap<string, readonly string[]> = (() => {
  const found = new Map<string, string[]>([
    ["src/main.ts", ["test/cli/program.ts"]], // which bundles it
    ["console/src/main.tsx", ["test/conformance/console/browser.ts"]], // which loads what is built of it
  ]);
  for (const [path, text] of modules)
    for (const imported of importsOf(path, text).files) found.set(imported, [...(found.get(imported) ?? []), path]);
  return found;
})();

/**
 * The tests of a file, by its path in the checkout, the nearest first: that of the same name, then those whose paths
 * have words in common with it, rare ones above all, then those that import it by the fewest steps. A proto file is
 * imported as what is generated of it. Of a file that is no module, the tests that name it, by its path above all.
 */
export function nearestTests(changed: string): string[] {
  const file = changed.replace(/^proto\/(.*)\.proto$/, "gen/$1_pb.ts");
  if (file.endsWith(".test.ts")) return tests.includes(file) ? [file] : [];
  if (!modules.has(file)) {
    const naming = (name: string) => tests.filter((test) => modules.get(test)!.includes(name));
    return [...new Set([...naming(file), ...naming(basename(file))])];
  }
  const steps = stepsFrom(file);
  const own = file.replace(/^src\//, "test/").replace(/\.tsx?$/, ".test.ts");
  const words = wordsOf(file);
  const common = (test: string) =>
    test === own
      ? Number.POSITIVE_INFINITY
      : [...wordsOf(test)].filter((word) => words.has(word)).reduce((sum, word) => sum + 1 / uses.get(word)!, 0);
  return tests
    .filter((test) => steps.has(test))
    .map((test) => ({ test, common: common(test), steps: steps.get(test)! }))
    .sort((a, b) => b.common - a.common || a.steps - b.steps)
    .map(({ test }) => test);
}

/** Seconds of CPU that a file of tests takes, by its folder: a few take more, most take less. */
export function costOf(test: string): number {
  if (test.startsWith("test/conformance/console/")) return 10; // a browser
  if (/^test\/(conformance|databases)\//.test(test)) return 8; // servers, on both databases
  return /^test\/(app|cli|remote|recipes|deploy)\//.test(test) ? 4 : 2; // programs
}

/** How many tests have a word in their paths. */
const uses: ReadonlyMap<string, number> = (() => {
  const found = new Map<string, number>();
  for (const test of tests) for (const word of wordsOf(test)) found.set(word, (found.get(word) ?? 0) + 1);
  return found;
})();

/** In how many steps modules import a file, by their paths. */
function stepsFrom(file: string): ReadonlyMap<string, number> {
  const steps = new Map([[file, 0]]);
  for (const [path, count] of steps)
    for (const importer of importers.get(path) ?? []) if (!steps.has(importer)) steps.set(importer, count + 1);
  return steps;
}

/** The words of a path without their plural: `resource` and `list` of `src/resource/lists.ts`. */
function wordsOf(path: string): ReadonlySet<string> {
  const words = (path.match(/\w+/g) ?? []).map((word) => word.replace(/_pb$/, "").replace(/s$/, ""));
  return new Set(words.filter((word) => !/^(src|gen|platform|test|tsx?|index|conformance|campaign)$/.test(word)));
}
