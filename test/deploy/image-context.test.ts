/** The build context of the image holds what the Dockerfile copies, and what the package is built from. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { repository } from "../cli/platform-process.ts";
import { contextFiles, copyContext, isSent, readPatterns } from "./image-context.ts";

describe.each<[string, readonly [path: string, isSent: boolean][]]>([
  ["# everything\n\n", [["a", true]]],
  [
    "*\n!a\n!b/c.ts\n",
    [
      ["a", true],
      ["a/d", true],
      ["b/c.ts", true],
      ["b/d.ts", false],
      ["ab", false],
      [".e", false],
    ],
  ],
  [
    "/a/\nb.c\n",
    [
      ["a/d", false],
      ["bxc", true],
      ["d/a", true],
    ],
  ],
  [
    "**/*.md\n!README.md\n",
    [
      ["a.md", false],
      ["a/b.md", false],
      ["README.md", true],
      ["a/README.md", false],
    ],
  ],
  [
    "a/**\na?\n",
    [
      ["a/b/c", false],
      ["ab", false],
      ["abc", true],
    ],
  ],
  ["!a\na\n", [["a", false]]],
])("%j", (text, cases) => {
  test.each(cases)("%s is sent: %s", (path, expected) => {
    expect(isSent(path, readPatterns(text))).toBe(expected);
  });
});

test("what the Dockerfile copies by name is in it", () => {
  const files = contextFiles();
  const copied = readFileSync(join(repository, "Dockerfile"), "utf8")
    .split("\n")
    .filter((line) => /^COPY (?!--from)/.test(line))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));
  expect(copied.length).toBeGreaterThan(2);
  const isThere = (path: string) => path === "." || files.some((file) => file === path || file.startsWith(`${path}/`));
  expect(copied.filter((path) => !isThere(path))).toEqual([]);
});

test("nothing else is in it: no tests, no documentation, no settings of this machine", () => {
  const tops = new Set(contextFiles().map((path) => path.split("/")[0]));
  expect([...tops].filter((top) => /^(test|docs|bench|examples|data|dist|node_modules|\..*)$/.test(top!))).toEqual([]);
});

test("the pages and the console are built from it, and the bill of materials is made", () => {
  const folder = mkdtempSync(join(tmpdir(), "platform-context-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  copyContext(folder);
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  for (const command of [scripts.prepare, scripts.sbom])
    execFileSync("sh", ["-c", command], { cwd: folder, stdio: "pipe" });
  for (const name of ["dist/console", "dist/pages"]) expect(readdirSync(join(folder, name)), name).not.toEqual([]);
  expect(existsSync(join(folder, "sbom.cdx.json"))).toBe(true);
});
