/** The packages that others take are groups of modules: they import no other module, and nothing but their peers. */
import { existsSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join, normalize } from "node:path";
import { expect, test } from "vitest";
import { importsOf } from "./violations.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The modules of each package. */
const groups = {
  client: ["client", "client-node", "testing"],
  rest: ["rest", "openapi", "codec", "message"],
};
/** What is bundled into them. */
const bundled = {
  client: ["@connectrpc/connect-node", "@connectrpc/connect-web"],
  rest: ["@bufbuild/protovalidate"],
};

test.each(Object.entries(groups))("%s", (name, modules) => {
  const { exports, peerDependencies } = JSON.parse(read(`packages/${name}/package.json`));
  const entries = Object.values<{ default?: string }>(exports).flatMap(({ default: path }) => path ?? []);
  const reached = new Set(entries.map((path) => normalize(path).replace(/\.js$/, ".ts")));
  const packages = new Set<string>();
  for (const path of reached) {
    const imports = importsOf(path, read(path));
    for (const file of imports.files) if (file.startsWith("src/")) reached.add(file);
    if (path.startsWith("src/")) for (const each of imports.packages) packages.add(each);
  }
  expect(entries.length).toBeGreaterThan(1);
  expect([...reached].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const foreign = [...reached].filter((path) => path.split("/").length > 2 && !modules.includes(path.split("/")[1]!));
  expect(foreign).toEqual([]);
  const names = [...packages].filter((each) => !each.startsWith("node:") && !builtinModules.includes(each));
  const owners = names.map((each) => each.replace(/^(@[^/]+\/[^/]+|[^/]+).*$/, "$1"));
  const allowed = [...Object.keys(peerDependencies), ...bundled[name as keyof typeof bundled]];
  expect(owners.filter((each) => !allowed.includes(each))).toEqual([]);
});
