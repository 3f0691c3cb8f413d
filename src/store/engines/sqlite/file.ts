/** The file of a SQLite database: at a path, or for `:memory:` in a folder that is removed when the process exits. */
import { closeSync, existsSync, fsyncSync, mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RefusedError } from "../../sql/errors.ts";

/**
 * The path of a temporary database. SQLite's in-memory databases have no write-ahead log, so that readers would wait
 * for writers.
 */
export const inMemory = ":memory:";

/** A database file that can be opened. */
export interface DatabaseFile {
  readonly path: string;
  /** Removes a temporary file. To be called when it has been closed. */
  remove(): void;
}

/**
 * Creates a database file and its folder if necessary, readable only by their owner. Errors: RefusedError, also when
 * the file is missing and `mustExist`; then nothing is created.
 */
export function prepareFile(path: string, mustExist: boolean): DatabaseFile {
  if (mustExist && path === inMemory)
    throw new RefusedError("an in-memory database exists only in the server that opened it");
  if (mustExist && !existsSync(path))
    throw new RefusedError(`there is no database at ${path}; \`platform serve\` or \`platform init\` makes one`);
  if (path === inMemory) return temporaryFile();
  try {
    makeFolder(dirname(path));
    closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    throw new RefusedError(`the database ${path} cannot be opened: ${(error as Error).message}`, { cause: error });
  }
  return { path, remove: () => {} };
}

function temporaryFile(): DatabaseFile {
  const folder = mkdtempSync(join(tmpdir(), "platform-memory-"));
  const remove = () => {
    process.off("exit", remove);
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", remove);
  return { path: join(folder, "platform.db"), remove };
}

/** `mkdir -p`. Node's own never returns where a file system, such as /proc, reports ENOENT for a folder that exists. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Makes the names of the files in a folder durable. Windows cannot. */
export function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  fsyncSync(folder);
  closeSync(folder);
}
