/** Translates SQLite's result codes to the errors of the store. */
import { ConflictError, DamagedError, UnavailableError, UniqueViolation } from "../../sql/errors.ts";

const busy = 5;
const readOnly = 8;
const ioError = 10;
const corrupt = 11;
/** SQLITE_IOERR_READ, _SHORT_READ, _DATA (a checksum is wrong), _CORRUPTFS. */
const readErrors: readonly number[] = [266, 522, 8202, 8458];
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

/** Whether the file is not a SQLite database. */
export function isNoDatabase(error: unknown): boolean {
  return codeOf(error) === notADatabase;
}

/**
 * Whether a COMMIT that failed has certainly written nothing: the log, which ends with the commit record, could not be
 * written.
 */
export function leavesNothing(error: unknown): boolean {
  const code = codeOf(error);
  return code === ioErrorWrite || [readOnly, full].includes(code & 0xff);
}

/** Translates an error of node:sqlite. Returns an error that has no translation unchanged. */
export function translated(error: unknown): unknown {
  if (isBusy(error)) return new ConflictError(error, true);
  const code = codeOf(error);
  if ([corrupt, notADatabase].includes(code & 0xff) || readErrors.includes(code)) return new DamagedError(error);
  if ([readOnly, ioError, full, cannotOpen].includes(code & 0xff))
    return new UnavailableError(`the disk of the database refuses: ${(error as Error).message}`, error);
  if (code !== constraintPrimaryKey && code !== constraintUnique) return error;
  return new UniqueViolation(violatedIndex((error as Error).message), error);
}

/**
 * The name of the index from "UNIQUE constraint failed: repos.parent, repos.name" or, for a partial index, "UNIQUE
 * constraint failed: index 'NAME'".
 */
function violatedIndex(message: string): string {
  const text = message.slice(message.indexOf(": ") + 2);
  const name = /^index '(.*)'$/.exec(text)?.[1];
  return name ?? text.replaceAll(/, [^.]*\./g, "_").replace(".", "_");
}

function codeOf(error: unknown): number {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : 0;
}
