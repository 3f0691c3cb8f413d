/**
 * Writes the archives of the three packages of `packages`, all with the version of package.json. Each is assembled in a
 * folder of dist/packages first.
 * Usage: npm run pack [-- FOLDER]; FOLDER is dist/archives unless it is given.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const repository = join(import.meta.dirname, "..");
const assembled = join(repository, "dist/packages");
const archives = resolve(process.argv[2] ?? join(repository, "dist/archives"));
const readManifest = (folder: string) => JSON.parse(readFileSync(join(repository, folder, "package.json"), "utf8"));
const { version } = readManifest(".");

rmSync(assembled, { recursive: true, force: true });
mkdirSync(archives, { recursive: true });

run("rolldown", "--config", "packages/server/rolldown.config.js");
run("tsc", "--project", "packages/server");
for (const path of ["bin", "dist/console", "dist/pages", "gen/contract.binpb", "gen/openapi", "proto/platform"])
  copy(path, join("server", path));
run("node", "deploy/sbom.ts", join(assembled, "server/sbom.cdx.json"));
pack("server", "README.md");

run("rolldown", "--config", "packages/rest/rolldown.config.js");
run("tsc", "--project", "packages/rest");
copy("packages/rest/proto", "rest/proto");
pack("rest");

run("rolldown", "--config", "packages/client/rolldown.config.js");
run("tsc", "--project", "packages/client");
pack("client");

function run(program: string, ...args: readonly string[]): void {
  const path = `${join(repository, "node_modules/.bin")}:${process.env.PATH}`;
  execFileSync(program, args, { cwd: repository, env: { ...process.env, PATH: path }, stdio: "inherit" });
}

function copy(from: string, to: string): void {
  cpSync(join(repository, from), join(assembled, to), { recursive: true });
}

/** Makes the archive of a package from its folder in dist/packages. */
function pack(name: string, readme = `packages/${name}/README.md`): void {
  copy(readme, join(name, "README.md"));
  copy("LICENSE", join(name, "LICENSE"));
  const { scripts: _, ...manifest } = { version, ...readManifest(`packages/${name}`) };
  writeFileSync(join(assembled, name, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  run("npm", "pack", join(assembled, name), "--pack-destination", archives);
}
