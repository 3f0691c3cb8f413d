/** The documentation names files that exist, headings that exist, and the modules as they are. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import modules from "../architecture/modules.json" with { type: "json" };
import { repository } from "../cli/platform-process.ts";
import { expectNoFaults } from "../faults.ts";
import { blocksOf, newFilesOf } from "./recipe.ts";

const read = (path: string) => readFileSync(join(repository, path), "utf8");

const pages = [
  ...readdirSync(repository).filter((path) => path.endsWith(".md")),
  ".github/pull_request_template.md",
  ...["client", "rest"].map((name) => `packages/${name}/README.md`),
  ...readdirSync(join(repository, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => `docs/${path}`),
];

/** Files that the reader creates. */
const created = new Set(
  ["docs/adding-a-resource.md", "docs/changing-the-contract.md"].flatMap((page) => newFilesOf(blocksOf(read(page)))),
);

describe.each(pages)("%s", (page) => {
  const prose = read(page).replaceAll(/^```.*?^```$/gms, "");

  test("links to files and headings that exist", () => {
    const links = [...prose.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
    const broken = links.filter(([, path, heading]) => {
      const target = path === "" ? page : normalize(join(dirname(page), path!));
      return !existsSync(join(repository, target)) || (heading !== undefined && !headingsOf(target).has(heading));
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test("names files that exist", () => {
    const named = [...prose.matchAll(/`((?:bench|bin|docs|gen|proto|src|test)\/[\w./-]+)`/g)].map(([, path]) => path!);
    // Vitest says nothing about a name that fits no file, if another one does.
    const run = blocksOf(read(page)).flatMap(({ content }) =>
      [...content.matchAll(/(test\/[\w/-]*)(?:\{([\w,-]+)\})?([\w.-]*\.test\.ts)/g)].flatMap(
        ([, folder, names, rest]) => (names?.split(",") ?? [""]).map((name) => `${folder}${name}${rest}`),
      ),
    );
    expect([...named, ...run].filter((path) => !created.has(path) && !existsSync(join(repository, path)))).toEqual([]);
  });
});

test("the table of modules is that of modules.json, with their levels", () => {
  const rows = [...read("docs/architecture.md").matchAll(/^\| (\d) \| \[`([\w.-]+)`\].* \| (.*?) ?\|$/gm)];
  const table = rows.map(([, level, name, used]) => [
    name,
    { level: Number(level), uses: [...used!.matchAll(/`([\w-]+)`/g)].map(([, other]) => other!).sort() },
  ]);
  const expected = Object.entries(modules).map(([name, uses]) => [
    name,
    { level: levelOf(name), uses: [...uses].sort() },
  ]);
  expect(Object.fromEntries(table)).toEqual(Object.fromEntries(expected));
});

const sources = readdirSync(join(repository, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path: `src/${path}`, text: read(`src/${path}`) }));

test("the texts of errors in troubleshooting.md are those of the program", () => {
  const texts = [...read("docs/troubleshooting.md").matchAll(/^\| `(.*?)`.* \|$/gm)].map(([, text]) => text!);
  const parts = texts.flatMap((text) => text.split("…").map((part) => part.replace(/^[\s)]+|[\s(]+$/g, "")));
  expect(parts.filter((part) => part !== "" && !sources.some(({ text }) => text.includes(part)))).toEqual([]);
  expect(texts.length).toBeGreaterThan(40);
});

test("the types of preconditions in errors.md are those of the program", () => {
  const told = [...read("docs/errors.md").matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, type]) => type!);
  // Readers of feeds throw none, and formats have types of their own.
  const throwing = sources.filter(({ path }) => !path.startsWith("src/feeds/"));
  const thrown = throwing.flatMap(({ path, text }) =>
    [...text.matchAll(/\btype: "([A-Z_]+)"/g)].map(([, type]) => ({ path, type: type! })),
  );
  expectNoFaults([
    ...thrown
      .filter(({ type }) => !told.includes(type))
      .map(({ path, type }) => `docs/errors.md: the table of preconditions lacks ${type}, of ${path}`),
    ...told
      .filter((type) => !thrown.some((each) => each.type === type))
      .map((type) => `docs/errors.md: the table of preconditions has ${type}, which nothing throws`),
  ]);
});

/** One more than the highest level of what a module uses; 0 for one that uses none. */
function levelOf(name: string): number {
  const uses: readonly string[] = modules[name as keyof typeof modules];
  return Math.max(-1, ...uses.map(levelOf)) + 1;
}

/** The anchors of a page's headings, as GitHub makes them. */
function headingsOf(page: string): Set<string> {
  const headings = [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}
