/**
 * The program that tests start: the bundle that the package has, which needs half the time of the sources to start. It
 * is made once for a run, by the first test that needs it. A run that watches files starts the sources.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Gives the run a folder for it, which goes when this process ends. Called once, before there are workers. */
export function nameProgram(): void {
  const folder = join(repository, "dist/tested", String(process.pid)); // where it finds its packages and files
  process.env.TEST_PROGRAM = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
}

/** Returns the path of the module that Node runs. Errors: the bundle cannot be made. */
export function programEntry(): string {
  const folder = process.env.TEST_PROGRAM!;
  if (process.env.VITEST_MODE === "WATCH") return join(repository, "src/main.ts");
  const made = join(folder, "made");
  if (!existsSync(made) && isFirst(folder)) {
    const making = join(folder, "making");
    const rolldown = join(repository, "node_modules/.bin/rolldown");
    execFileSync(process.execPath, [rolldown, "--config", "--dir", making], { cwd: repository, stdio: "pipe" });
    renameSync(making, made);
  }
  const isWaited = new Int32Array(new SharedArrayBuffer(4));
  for (let triesLeft = 1200; !existsSync(made); triesLeft--) {
    if (triesLeft === 0) throw new Error(`another worker does not make ${made}`);
    Atomics.wait(isWaited, 0, 0, 50);
  }
  return join(made, "main.js");
}

/** Whether no other worker has begun to make it. */
function isFirst(folder: string): boolean {
  mkdirSync(join(folder, ".."), { recursive: true });
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
