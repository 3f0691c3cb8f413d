/** The package, installed from its archive into an empty folder. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { makeOnce } from "../make-once.ts";
import { copyRepository } from "../recipes/recipe.ts";

/** Installs it into a folder of its own. `archive`: the path of its archive. */
export async function installPackage() {
  const installed = makeOnce("package", packAndInstall);
  const root = await mkdtemp(join(tmpdir(), "platform-package-"));
  cpSync(installed, root, { recursive: true, verbatimSymlinks: true });
  const [archive] = readdirSync(join(root, "packed"));
  return {
    root,
    archive: join(root, "packed", archive!),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Makes the archive, in a copy of the repository as another test may be making it too. */
function packAndInstall(root: string): void {
  const [source, packed] = [join(root, "source"), join(root, "packed")];
  for (const folder of [source, packed, join(root, "home")]) mkdirSync(folder);
  copyRepository(source);
  execFileSync("npm", ["pack", "--pack-destination", packed], { cwd: source, stdio: "pipe" });
  const archive = join(packed, readdirSync(packed)[0]!);
  execFileSync("npm", ["install", "--prefix", root, "--no-audit", "--no-fund", archive], { cwd: root, stdio: "pipe" });
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
