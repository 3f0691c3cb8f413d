/** Locks between processes: a file with the id of the process that has the lock. */
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** A lock, or the id of the process that has it. */
export type LockAttempt = { readonly release: () => Promise<void> } | { readonly owner: number };

/** Tries to take a lock. That of a process that has ended is taken over. Its folder is created with mode 0700. */
export async function tryLock(file: string): Promise<LockAttempt> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  while (!(await createLock(file))) {
    const owner = Number(await readFile(file, "utf8").catch(() => ""));
    if (isRunning(owner)) return { owner };
    await rm(file, { force: true });
  }
  return { release: () => rm(file, { force: true }) };
}

async function createLock(file: string): Promise<boolean> {
  const own = `${file}.${process.pid}`;
  await writeFile(own, `${process.pid}`, { mode: 0o600 });
  try {
    await link(own, file); // at once with its content
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
