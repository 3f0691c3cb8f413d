/**
 * Writes the TypeScript client of the package into dist/client: JavaScript and its types, one file for each source.
 * Usage: node deploy/client.ts
 */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const repository = join(import.meta.dirname, "..");
const target = join(repository, "dist/client");
/** Generated files that only annotations need. Clients read none, and value rules are the largest of all files. */
const annotations = /^import \{ (file_\w+) \} from "[^"]*\/(?:buf\/validate|google\/api|annotations)\/\w+_pb\.js";\n/gm;

rmSync(target, { recursive: true, force: true });
execFileSync(join(repository, "node_modules/.bin/tsc"), ["--project", "tsconfig.client.json"], {
  cwd: repository,
  stdio: "inherit",
});
for (const path of globSync(`${target}/gen/**/*.js`)) {
  const text = readFileSync(path, "utf8");
  const names = [...text.matchAll(annotations)].map(([, name]) => name);
  const list = (_: string, files: string) =>
    `, [${files
      .split(", ")
      .filter((file) => !names.includes(file))
      .join(", ")}]);`;
  writeFileSync(path, text.replace(annotations, "").replace(/, \[([\w, ]*)\]\);$/m, list));
}
for (const folder of ["google/api", "platform/annotations"])
  rmSync(join(target, "gen", folder), { recursive: true, force: true });
