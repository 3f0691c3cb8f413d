/**
 * Copies a SQLite file while processes write it, checks copies, and puts one in the place of a database that no process
 * has open.
 */
import {
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { DamagedError, RefusedError } from "../../sql/errors.ts";
import type { SqlConnection } from "../../sql/statement.ts";
import { SqliteConnection } from "./connection.ts";
import { isBusy, isNoDatabase, translated } from "./errors.ts";
import { syncFolder } from "./file.ts";

/** How to copy. */
export interface CopyOptions {
  /** The most that is copied in a second. */
  readonly bytesPerSecond: number;
  /** Called after each step; what it throws ends the copy. */
  progress(bytes: number, total: number): void;
}

/** A database file that no other process has open, nor can open until `release`. */
export interface HeldFile {
  /**
   * Puts the file at `path` in its place, at once, and keeps the old one beside it. Returns the name of the old one,
   * undefined if there was none.
   */
  replaceBy(path: string): string | undefined;
  release(): void;
}

/** How much is copied in one step, in which writers of the file are not delayed. */
const stepBytes = 1024 * 1024;
/** How long to wait for a process that is closing the file. */
const closingWaitMs = 1000;

/**
 * Copies the database at `from`, as it is at this moment, to a new file at `to`. Without the read transaction, which
 * keeps the snapshot, SQLite would begin again whenever another process has written. The log of the database grows
 * until the copy is complete. Errors: UnavailableError; what `progress` throws.
 */
export async function copySqlite(from: string, to: string, { bytesPerSecond, progress }: CopyOptions): Promise<void> {
  try {
    using source = new DatabaseSync(from, { timeout: closingWaitMs });
    const { page_size: pageBytes } = source.prepare("pragma page_size").get() as { readonly page_size: number };
    source.exec("begin; select 1 from sqlite_master limit 1");
    const startMs = performance.now();
    await backup(source, to, {
      rate: Math.max(1, Math.floor(stepBytes / pageBytes)),
      progress({ totalPages, remainingPages }) {
        const bytes = (totalPages - remainingPages) * pageBytes;
        progress(bytes, totalPages * pageBytes);
        sleep(startMs + (bytes / bytesPerSecond) * 1000 - performance.now());
      },
    });
    // The copy is a single file, which can be read where nothing can be written.
    using copy = new DatabaseSync(to);
    copy.exec("pragma journal_mode = delete");
  } catch (error) {
    throw translated(error);
  }
}

/** node:sqlite starts the next step when the callback returns, so the pause is in the callback. */
function sleep(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * Opens a copy without changing it, and runs `read` on it. Errors: RefusedError when the copy is damaged;
 * those of `read`.
 */
export async function readSqlite<T>(path: string, read: (connection: SqlConnection) => Promise<T>): Promise<T> {
  using database = new DatabaseSync(path, { readOnly: true, enableDoubleQuotedStringLiterals: false });
  try {
    const [fault] = integrityFaults(database);
    if (fault !== undefined) throw new RefusedError(`the copy is damaged: ${fault}`);
    return await read(new SqliteConnection(database));
  } catch (error) {
    if (isNoDatabase(error)) throw new RefusedError("the copy is not a SQLite database", { cause: error });
    throw error;
  }
}

/** What SQLite finds wrong in a file. It reads all of it. */
export function integrityFaults(database: DatabaseSync): readonly string[] {
  try {
    const found = database.prepare("pragma integrity_check").all() as { readonly integrity_check: string }[];
    const orphans = database.prepare("pragma foreign_key_check").all() as { readonly table: string }[];
    return [
      ...found.map(({ integrity_check: text }) => text).filter((text) => text !== "ok"),
      ...orphans.map(({ table }) => `a row of ${table} refers to a row that does not exist`),
    ];
  } catch (error) {
    const damage = translated(error);
    if (damage instanceof DamagedError) return [(error as Error).message]; // so damaged that the check itself fails
    throw error;
  }
}

/** Whether another process has the file open. Changes nothing. */
export function isInUse(path: string): boolean {
  if (!hasContent(path)) return false;
  try {
    using database = new DatabaseSync(path, { timeout: closingWaitMs });
    database.exec("pragma locking_mode = exclusive; begin immediate; rollback");
    return false;
  } catch (error) {
    return isBusy(error);
  }
}

/**
 * Holds the database file at `path`, which may be missing or damaged. A damaged one cannot be held: that no process
 * has it open is not known. Errors: RefusedError when another process has it open.
 */
export function holdSqlite(path: string): HeldFile {
  const holder = hasContent(path) ? holderOf(path) : undefined;
  return {
    replaceBy(replacement) {
      giveToOwner(replacement, path);
      const old = replaceFile(path, replacement, holder !== undefined);
      syncFolder(dirname(path));
      return old;
    },
    release: () => holder?.close(),
  };
}

/** A connection that excludes all others. What was in the write-ahead log is then in the file. */
function holderOf(path: string): DatabaseSync | undefined {
  const database = new DatabaseSync(path, { timeout: closingWaitMs });
  try {
    database.exec("pragma journal_mode = delete; begin exclusive");
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) throw new RefusedError(`${path} is open in another process: stop the server first`);
    return undefined;
  }
}

/** Gives a file the owner of the database, or of its folder: a command of root must not lock the server out. */
function giveToOwner(file: string, path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(existsSync(path) ? path : dirname(path));
  chownSync(file, uid, gid);
}

/** At every moment there is a whole database at `path`: the old one, then the new one. */
function replaceFile(path: string, replacement: string, isHeld: boolean): string | undefined {
  const old = `${path}.before-restore-${new Date().toISOString().replaceAll(/[-:.]/g, "")}`;
  // A log that is left would be applied to the new file. Where the old file is held, nothing in it is needed.
  for (const suffix of ["-wal", "-shm", "-journal"]) {
    if (isHeld) rmSync(`${path}${suffix}`, { force: true });
    else if (existsSync(`${path}${suffix}`)) renameSync(`${path}${suffix}`, `${old}${suffix}`);
  }
  if (existsSync(path)) {
    linkOrCopy(path, old);
    renameSync(replacement, path);
    return old;
  }
  linkOrCopy(replacement, path); // fails when a server has just made one
  rmSync(replacement);
  return undefined;
}

/** Gives a file another name, or copies it where the file system has no such names. Errors: EEXIST. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
    syncFile(to);
  }
}

function syncFile(path: string): void {
  const file = openSync(path, "r+");
  fsyncSync(file);
  closeSync(file);
}

function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
