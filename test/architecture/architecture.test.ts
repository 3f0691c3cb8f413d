/** The source tree follows the table of its modules, `modules.json`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import modules from "./modules.json" with { type: "json" };
import { type Sources, violationsBeside, violationsOf } from "./violations.ts";

const root = join(import.meta.dirname, "../..");

/** The sources in folders, without those that packages have installed. */
function sourcesIn(...folders: readonly string[]): Sources {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`),
  );
  const own = paths.filter((path) => /\.tsx?$/.test(path) && !path.includes("/node_modules/"));
  return new Map(own.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

test("the source tree has no violation", () => {
  const sources = sourcesIn("src");
  expect(sources.size).toBeGreaterThan(300);
  expect(violationsOf(sources, modules)).toEqual([]);
});

test("nor have the console, the tests, the benchmark and packages", () => {
  const beside = ["console/src", "test", "bench", "packages"].filter((folder) => existsSync(join(root, folder)));
  const sources = sourcesIn(...beside);
  expect(sources.size).toBeGreaterThan(500);
  expect(violationsBeside(sources)).toEqual([]);
});

const imports = (...paths: string[]) => paths.map((path) => `import "${path}";\n`).join("");

test.each<[string, Record<string, string>, string]>([
  [
    "a module that may not be used",
    { "src/rest/planted.ts": imports("../store/index.ts") },
    "src/rest/planted.ts imports src/store/index.ts: rest may not use store",
  ],
  [
    "a type is an import, too",
    { "src/codec/planted.ts": 'import type { Planted } from "../rest/index.ts";\n' },
    "src/codec/planted.ts imports src/rest/index.ts: codec may not use rest",
  ],
  [
    "an import() is an import, too",
    { "src/http/planted.ts": 'export const planted = () => import("../rpc/index.ts");\n' },
    "src/http/planted.ts imports src/rpc/index.ts: http may not use rpc",
  ],
  [
    "a file of another module that is not its index.ts",
    { "src/resource/planted.ts": imports("../store/database.ts") },
    "src/resource/planted.ts imports src/store/database.ts, not src/store/index.ts",
  ],
  [
    "two files, one by a type",
    {
      "src/feeds/one.ts": 'import type { Two } from "./two.ts";\n',
      "src/feeds/two.ts": 'export { one } from "./one.ts";\n',
    },
    "files in a cycle: src/feeds/one.ts, src/feeds/two.ts",
  ],
  [
    "two folders of a module",
    {
      "src/feeds/a/one.ts": imports("../b/one.ts"),
      "src/feeds/b/one.ts": "",
      "src/feeds/b/two.ts": imports("../a/one.ts"),
    },
    "folders in a cycle: src/feeds/a, src/feeds/b",
  ],
  [
    "a database outside store",
    { "src/feeds/planted.ts": imports("kysely") },
    "src/feeds/planted.ts imports kysely: only store knows databases",
  ],
  [
    "a domain where there is none",
    { "src/rest/planted.ts": imports("../../gen/platform/iam/v2/groups_pb.ts") },
    "src/rest/planted.ts imports gen/platform/iam/v2/groups_pb.ts: rest knows no domain",
  ],
  ["a module that is not in the table", { "src/planted/index.ts": "" }, "src/planted is not a module of the table"],
  [
    "a leaf that uses a module",
    { "src/errors.ts": imports("./rest/index.ts") },
    "src/errors.ts imports src/rest/index.ts: a leaf uses only leaves",
  ],
  ["a long file", { "src/rest/planted.ts": "\n".repeat(401) }, "src/rest/planted.ts has 401 lines, more than 400"],
])("%s is found", (_, planted, violation) => {
  expect(violationsOf(new Map(Object.entries(planted)), modules)).toEqual([violation]);
});

test.each<[string, Record<string, string>, string]>([
  [
    "a circle of the console, by a type and an import()",
    {
      "console/src/one.tsx": 'import type { Two } from "./two.tsx";\n',
      "console/src/two.tsx": 'export const load = () => import("./one.tsx");\n',
    },
    "files in a cycle: console/src/one.tsx, console/src/two.tsx",
  ],
  [
    "a circle of helpers of tests",
    { "test/one.ts": imports("./two.ts"), "test/two.ts": imports("./one.ts") },
    "files in a cycle: test/one.ts, test/two.ts",
  ],
  [
    "a part of the server in the console",
    { "console/src/planted.tsx": imports("../../src/store/index.ts") },
    "console/src/planted.tsx imports src/store/index.ts: the console may not use it",
  ],
])("beside the source tree, %s is found", (_, planted, violation) => {
  expect(violationsBeside(new Map(Object.entries(planted)))).toEqual([violation]);
});
