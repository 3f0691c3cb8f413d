/** Another commit of this repository, ready to run: a working tree of its own with its dependencies. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What a git command prints in this working tree. */
export function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}

/** A commit that is checked out. */
export interface Commit {
  /** Its hash, shortened. */
  readonly name: string;
  /** The folder of its working tree. */
  readonly path: string;
}

/**
 * Checks a commit out below `.bench-commits`, where it stays for the next run. Its dependencies are those of this
 * working tree if the lock is the same, and installed otherwise. Errors: those of git and npm.
 */
export function checkOut(reference: string): Commit {
  const name = git("rev-parse", "--short=12", `${reference}^{commit}`);
  const path = join(root, ".bench-commits", name);
  if (!existsSync(path)) git("worktree", "add", "--quiet", "--force", "--detach", path, name);
  if (existsSync(join(path, "node_modules"))) return { name, path };
  const lock = (folder: string) => readFileSync(join(folder, "package-lock.json"), "utf8");
  if (lock(path) === lock(root)) symlinkSync(join(root, "node_modules"), join(path, "node_modules"));
  else {
    console.log(`installing the dependencies of ${name}`);
    execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: path, stdio: ["ignore", "ignore", "inherit"] });
  }
  return { name, path };
}
