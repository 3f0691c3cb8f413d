/** The variables that files of the deployment set are settings. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { settings, variableOf } from "../../src/config.ts";
import { repository } from "../cli/platform-process.ts";

const known = new Set<string>(Object.keys(settings).map((name) => variableOf(name as keyof typeof settings)));

const files = [
  "Dockerfile",
  ...readdirSync(join(repository, "deploy"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(repository.length)),
];

test.each(files)("%s", (file) => {
  // A comment may tell of what Kubernetes injects; compose.yaml takes the name of the image by a variable of its own.
  const text = readFileSync(join(repository, file), "utf8").replaceAll(/^ *#.*PLATFORM_SERVICE_HOST.*$/gm, "");
  const named = text.match(/(?<![\w{])PLATFORM_[A-Z_]+/g) ?? [];
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});
