/**
 * Writes the transcoder of the package and what makes OpenAPI documents of it into dist/rest: JavaScript and its types,
 * one file for each source.
 * Usage: node deploy/rest.ts
 */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

const repository = join(import.meta.dirname, "..");

rmSync(join(repository, "dist/rest"), { recursive: true, force: true });
execFileSync(join(repository, "node_modules/.bin/tsc"), ["--project", "tsconfig.rest.json"], {
  cwd: repository,
  stdio: "inherit",
});
