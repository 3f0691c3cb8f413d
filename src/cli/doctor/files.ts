/** Checks of files: who can read them, where they are, what is left on the disk. */
import { accessSync, constants, type Stats, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { networkFileSystemOf } from "../../store/index.ts";
import { sizeText } from "../backup/options.ts";
import { type CheckResult, failure, ok, warning } from "./finding.ts";

/** A file that only the server should read. */
export interface PrivateFile {
  /** The setting that names it. */
  readonly setting: string;
  readonly path: string;
  /** Whether members of its group may read it, as with a certificate's key. */
  readonly isShared: boolean;
}

const minFreeBytes = 100 * 1024 * 1024;

/** Whether other users can read files with secrets, or write them. */
export function checkFileRights(files: readonly PrivateFile[]): CheckResult {
  const found = files.flatMap((file) => {
    const stat = statSync(file.path, { throwIfNoEntry: false });
    return stat === undefined ? [] : [{ ...file, stat }];
  });
  const open = found.filter(({ stat }) => (stat.mode & 0o006) !== 0);
  const shared = found.filter(({ stat, isShared }) => !isShared && (stat.mode & 0o066) !== 0);
  const advice = (some: readonly PrivateFile[]) => `chmod go= ${some.map(({ path }) => path).join(" ")}`;
  if (open.length > 0)
    return failure("every user of this machine can read or write files with secrets", advice(open), linesOf(open));
  if (shared.length > 0)
    return warning("the group of files with secrets can read or write them", advice(shared), linesOf(shared));
  return ok(`${found.map(({ path }) => path).join(", ") || "no file with secrets"} cannot be read by others`);
}

function linesOf(files: readonly (PrivateFile & { readonly stat: Stats })[]): readonly string[] {
  return files.map(({ setting, path, stat }) => `${path} (${setting}) has mode ${(stat.mode & 0o777).toString(8)}`);
}

/** Whether a SQLite database and its log belong to one user, and their folder can be written. */
export function checkDatabaseFiles(path: string): CheckResult {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined)
    return failure(
      `there is no database at ${path}`,
      "`platform serve` or `platform init` makes one, `platform restore` restores one",
    );
  const foreign = ["-wal", "-shm"].filter((suffix) => {
    const other = statSync(`${path}${suffix}`, { throwIfNoEntry: false });
    return other !== undefined && other.uid !== stat.uid;
  });
  if (foreign.length > 0)
    return failure(
      `${foreign.map((suffix) => path + suffix).join(" and ")} belong to another user than ${path}`,
      `a command was run as another user: chown them to the owner of ${path}, and run commands as that user`,
    );
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    return failure((error as Error).message, "run as the user of the server, or give that user the folder");
  }
  return ok(`${path} and its folder can be written`);
}

/** Whether a SQLite database is on a file system of this machine. */
export function checkFileSystem(path: string): CheckResult {
  const name = networkFileSystemOf(path);
  if (name === undefined) return ok("the database is on a file system of this machine");
  return warning(
    `the database is on ${name}, a network file system`,
    "move it to a disk of this machine, or use PostgreSQL: SQLite can lose data where locks and shared memory do not work",
  );
}

/** Whether the file system of a SQLite database has space left. */
export function checkDiskSpace(path: string): CheckResult {
  const { bavail, blocks, bsize } = statfsSync(dirname(path));
  const free = bavail * bsize;
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const left = `${sizeText(free)} of ${sizeText(blocks * bsize)} are left in ${dirname(path)}`;
  const advice = "make space, or enlarge the file system: on a full disk every write is refused";
  if (free < minFreeBytes) return failure(left, advice);
  if (free < size) return warning(`${left}, less than the database has (${sizeText(size)})`, advice);
  return ok(left);
}
