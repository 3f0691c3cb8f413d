/** SQLite's result codes in the room's terms. */
import { ConflictError, UnavailableError, UniqueViolation } from "../errors.ts";

const busy = 5;
const readOnly = 8;
const ioError = 10;
const ioErrorWrite = 778;
const full = 13;
const cannotOpen = 14;
const notADatabase = 26;
const constraintPrimaryKey = 1555;
const constraintUnique = 2067;

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return (codeOf(error) & 0xff) === busy; // the low byte of every extended code of SQLITE_BUSY
}

/** Whether the file is something else than a database. */
export function isNoDatabase(error: unknown): boolean {
  return codeOf(error) === notADatabase;
}

/** Whether a COMMIT that a disk refused has certainly left nothing: it could not be written to the log, which ends with what commits it. */
export function leavesNothing(error: unknown): boolean {
  const code = codeOf(error);
  return code === ioErrorWrite || [readOnly, full].includes(code & 0xff);
}

/** The neutral error for what node:sqlite threw; what has none stays as it is. */
export function translated(error: unknown): unknown {
  if (isBusy(error)) return new ConflictError(error);
  const code = codeOf(error);
  if ([readOnly, ioError, full, cannotOpen].includes(code & 0xff))
    return new UnavailableError(`the disk of the database refuses: ${(error as Error).message}`, error);
  if (code !== constraintPrimaryKey && code !== constraintUnique) return error;
  return new UniqueViolation(violatedIndex((error as Error).message), error);
}

/** From "UNIQUE constraint failed: repos.parent, repos.name", or of a partial index "UNIQUE constraint failed: index 'NAME'". */
function violatedIndex(message: string): string {
  const text = message.slice(message.indexOf(": ") + 2);
  const name = /^index '(.*)'$/.exec(text)?.[1];
  return name ?? text.replaceAll(/, [^.]*\./g, "_").replace(".", "_");
}

function codeOf(error: unknown): number {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : 0;
}
