/** What several test files use, and takes long to make: it is made once for a run, by the first that asks. */
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Gives the run a folder, which goes when this process ends. Called once, before there are workers. */
export function nameRun(): void {
  // Programs find the packages and the files of the checkout from there.
  const folder = fileURLToPath(new URL(`../dist/tested/${process.pid}`, import.meta.url));
  process.env.TEST_RUN = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
}

/** How long one worker waits for another, in steps of 50 ms. */
const patience = 6000;

/**
 * Returns a folder with what `make` puts there. It blocks the process until that is done. Errors: those of `make`,
 * after which the next caller tries.
 */
export function makeOnce(name: string, make: (folder: string) => void): string {
  const folder = join(process.env.TEST_RUN!, name);
  const made = join(folder, "made");
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let triesLeft = patience; !existsSync(made); triesLeft--) {
    if (isFirst(folder)) makeIn(folder, made, make);
    else if (triesLeft === 0) throw new Error(`another worker does not make ${made}`);
    else Atomics.wait(never, 0, 0, 50);
  }
  return made;
}

/** Whether nobody else makes something in this folder. */
function isFirst(folder: string): boolean {
  mkdirSync(join(folder, ".."), { recursive: true });
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function makeIn(folder: string, made: string, make: (folder: string) => void): void {
  const making = join(folder, "making");
  try {
    mkdirSync(making);
    make(making);
    renameSync(making, made);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
