/** The packages, installed from their archives into an empty folder. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { makeOnce } from "../make-once.ts";
import { copyRepository } from "../recipes/recipe.ts";

const archives = {
  "platform-api": /^platform-api-\d/,
  "@platform-api/client": /^platform-api-client-/,
  "@platform-api/rest": /^platform-api-rest-/,
};

/** The path of the archive of a package. */
export function archiveOf(name: keyof typeof archives): string {
  const folder = makeOnce("packages", pack);
  return join(folder, readdirSync(folder).find((file) => archives[name].test(file))!);
}

/** Installs a package into a folder of its own, and others from the registry beside it. */
export async function installPackage(name: keyof typeof archives, others: readonly string[] = []) {
  const archive = archiveOf(name);
  const root = await mkdtemp(join(tmpdir(), "platform-package-"));
  mkdirSync(join(root, "home"));
  const args = ["install", "--prefix", root, "--no-audit", "--no-fund", archive, ...others];
  execFileSync("npm", args, { cwd: root, stdio: "pipe" });
  return { root, archive, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** Makes the archives, in a copy of the repository as another test may be making them too. */
function pack(folder: string): void {
  const source = join(folder, "source");
  mkdirSync(source);
  copyRepository(source);
  execFileSync("npm", ["run", "pack", "--", folder], { cwd: source, stdio: "pipe" });
  rmSync(source, { recursive: true });
}

/** A Node on the PATH that is older than the server needs, and its major version; undefined if there is none. */
export function olderNode(): { path: string; version: number } | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .filter((path) => !path.includes("node_modules") && existsSync(path))
    .map((path) => ({ path, version: Number(execFileSync(path, ["-p", "process.versions.node.split('.')[0]"])) }))
    .find(({ version }) => version < 24);
}
