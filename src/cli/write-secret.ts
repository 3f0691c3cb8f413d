/** Files that only their owner can read. */
import { renameSync, rmSync, writeFileSync } from "node:fs";

/** Writes a new file and renames it to `path`, so that nobody reads a part of it. Errors: those of the file system. */
export function writeSecret(path: string, text: string): void {
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
