/** What files of the deployment repeat: names of settings, and versions. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { settings, variableOf } from "../../src/config/index.ts";
import { repository } from "../cli/platform-process.ts";

const known = new Set<string>(Object.keys(settings).map((name) => variableOf(name as keyof typeof settings)));

const files = [
  "Dockerfile",
  ...readdirSync(join(repository, "deploy"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(repository.length)),
];

test.each(files)("the variables of %s are settings", (file) => {
  // A comment may tell of what Kubernetes injects; compose.yaml takes the name of the image by a variable of its own.
  const text = readFileSync(join(repository, file), "utf8").replaceAll(/^ *#.*PLATFORM_SERVICE_HOST.*$/gm, "");
  const named = text.match(/(?<![\w{])PLATFORM_[A-Z_]+/g) ?? [];
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("versions are those of the package", () => {
  const read = (file: string) => readFileSync(join(repository, file), "utf8");
  const { version, devDependencies, engines } = JSON.parse(read("package.json"));
  expect(read("Dockerfile")).toContain(`ARG VERSION=${version}\n`);
  expect(read("Dockerfile")).toContain(`docker.io/library/node:${devDependencies.node}-`);
  expect(read(".nvmrc")).toBe(`${devDependencies.node}\n`);
  expect(read("deploy/helm/platform-api/Chart.yaml")).toContain(`appVersion: ${version}\n`);
  expect(read("deploy/compose/compose.yaml")).toContain(`platform-api:${version}}`);
  expect(read("docs/deploy.md")).toContain(engines.node.slice(2));
});
