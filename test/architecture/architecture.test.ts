/** The source tree follows the table of its modules, `modules.json`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import modules from "./modules.json" with { type: "json" };
import { type Sources, violationsOf } from "./violations.ts";

const root = join(import.meta.dirname, "../..");

const sources: Sources = new Map(
  readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [`src/${path}`, readFileSync(join(root, "src", path), "utf8")]),
);

test("the source tree has no violation", () => {
  expect(sources.size).toBeGreaterThan(300);
  expect(violationsOf(sources, modules)).toEqual([]);
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
