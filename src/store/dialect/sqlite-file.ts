/** Where the file of a SQLite database is: at a path, or for `:memory:` in a folder that goes with the process. */
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RefusedError } from "../errors.ts";

/** The path of a database that is not kept. SQLite's own databases in memory know no write-ahead log, without which readers would wait for writers. */
export const inMemory = ":memory:";

/** A file that can be opened. */
export interface DatabaseFile {
  readonly path: string;
  /** To be called when it has been closed. */
  remove(): void;
}

/**
 * Makes a database's file and its folder, if need be; only their owner can read them. Errors: RefusedError, also when it is missing and
 * `mustExist`; then nothing is made.
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

/** `mkdir -p`. Node's own tries without end where a file system, as that of /proc, says of a folder that can be seen that it is not there. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
