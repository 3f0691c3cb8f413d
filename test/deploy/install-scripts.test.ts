/** Scripts of dependencies that an installation runs: each is decided on in package.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";

const read = (file: string) => JSON.parse(readFileSync(join(repository, file), "utf8"));
const { allowScripts } = read("package.json") as { readonly allowScripts: Readonly<Record<string, boolean>> };
const { packages } = read("package-lock.json") as {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
};

test("every dependency with an install script is allowed or denied, and no other is named", () => {
  const named = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript ? [path.replace(/^.*node_modules\//, "")] : [],
  );
  expect(Object.keys(allowScripts).sort()).toEqual([...new Set(named)].sort());
});
