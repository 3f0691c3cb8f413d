/** Comments keep to 120 columns. The formatter does not break them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const maxColumns = 120;
const files = globSync("{bench,console,deploy,examples,packages,proto,src,test}/**/*.{ts,tsx,mjs,js,proto}", {
  cwd: root,
  exclude: ["**/gen/**", "**/node_modules/**", "packages/rest/proto/**"],
});

/** A line that is a comment, or ends with one. */
const comment = /^\s*(?:\/\/|\/\*|\*(?:[ /]|$))|\s\/\/ /;

test(`no comment is longer than ${maxColumns} columns`, () => {
  expect(files.length).toBeGreaterThan(1000);
  const long = files.flatMap((path) =>
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .flatMap((line, i) => (line.length > maxColumns && comment.test(line) ? [`${path}:${i + 1}`] : [])),
  );
  expect(long).toEqual([]);
});
