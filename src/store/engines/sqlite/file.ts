/** The file of a SQLite database: at a path, or for `:memory:` in a folder that is removed when the process exits. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RefusedError } from "../../sql/errors.ts";

/**
 * The path of a temporary database. SQLite's in-memory databases have no write-ahead log, so that readers would wait
 * for writers.
 */
export const inMemory = ":memory:";

/** How long another process may take to make the log of a new file. */
const newFileTries = 50;
const newFileRetryMs = 20;

/** A database file that can be opened. */
export interface DatabaseFile {
  readonly path: string;
  /** Whether it has a header of SQLite, and no log beside it: all that was ever committed must be in it. */
  readonly isAlone: boolean;
  /** Removes a temporary file. To be called when it has been closed. */
  remove(): void;
}

/**
 * Creates a database file and its folder if necessary, readable only by their owner. Errors: RefusedError, also when
 * the file is missing and `mustExist`, then nothing is created; and when its log is missing.
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
  return { path, isAlone: checkLog(path), remove: () => {} };
}

/**
 * Checks that the log of a database has not been removed, as far as the file shows. Returns whether there is none.
 * SQLite removes the log, and before it the index `-shm`, when the last process has closed the file.
 */
function checkLog(path: string): boolean {
  if (statSync(path).size === 0) return false;
  const hasLog = () => existsSync(`${path}-wal`);
  const hasIndex = () => existsSync(`${path}-shm`);
  const hadIndex = hasIndex();
  if (hasLog()) return false;
  if (hadIndex && hasIndex()) throw logIsGone(path, "its index is there");
  const header = headerOf(path);
  if (header === undefined) return true; // SQLite refuses it
  if (statSync(path).size < header.bytes) throw logIsGone(path, "pages are missing in the file");
  if (header.hasSchema) return true;
  // A process that makes a database has a log in a moment.
  for (let triesLeft = newFileTries; triesLeft > 0; triesLeft--) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, newFileRetryMs);
    if (hasLog()) return false;
  }
  throw logIsGone(path, "the file has no tables");
}

/** The error for a file whose log is missing. `sign`: what shows it. */
export function logIsGone(path: string, sign: string): RefusedError {
  return new RefusedError(
    `the write-ahead log of the database, ${path}-wal, is missing: ${sign}. Put it back beside the file, or restore a backup; if nothing was ever stored, remove the file`,
  );
}

/** What the header of a file of SQLite says: its size, and whether there ever was a table. */
function headerOf(path: string): { readonly bytes: number; readonly hasSchema: boolean } | undefined {
  const header = Buffer.alloc(100);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  if (header.toString("latin1", 0, 16) !== "SQLite format 3\0") return undefined;
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const isSizeValid = header.readUInt32BE(24) === header.readUInt32BE(92);
  return { bytes: isSizeValid ? header.readUInt32BE(28) * pageBytes : 0, hasSchema: header.readUInt32BE(40) > 0 };
}

/** File systems that are not, or may not be, of this machine: `f_type` of statfs(2) on Linux. */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff53_4d42, "CIFS"],
  [0xfe53_4d42, "SMB2"],
  [0x6573_5546, "FUSE"],
  [0x0102_1997, "9P"],
  [0x5346_414f, "AFS"],
  [0x6b41_4653, "AFS"],
  [0x7375_7245, "Coda"],
  [0x00c3_6400, "Ceph"],
  [0x0bd0_0bd0, "Lustre"],
  [0x0116_1970, "GFS2"],
  [0x7461_636f, "OCFS2"],
  [0x4750_4653, "GPFS"],
  [0x1983_0326, "BeeGFS"],
  [0x786f_4256, "vboxsf"],
]);

/**
 * The name of the network file system that a path is on; undefined on one of this machine, and where it is not known.
 * SQLite needs shared memory and locks, which these do not give to several machines, and few to several processes.
 */
export function networkFileSystemOf(path: string, typeOf = fileSystemType): string | undefined {
  return networkFileSystems.get(typeOf(path) >>> 0);
}

function fileSystemType(path: string): number {
  return process.platform === "linux" ? statfsSync(path).type : 0;
}

function temporaryFile(): DatabaseFile {
  const folder = mkdtempSync(join(tmpdir(), "platform-memory-"));
  const remove = () => {
    process.off("exit", remove);
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", remove);
  return { path: join(folder, "platform.db"), isAlone: false, remove };
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
