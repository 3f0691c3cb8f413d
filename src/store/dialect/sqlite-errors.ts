/** SQLite's result codes in the room's terms. */
import { ConflictError, UniqueViolation } from "../errors.ts";

const busy = 5;
const constraintPrimaryKey = 1555;
const constraintUnique = 2067;

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return (codeOf(error) & 0xff) === busy; // the low byte of every extended code of SQLITE_BUSY
}

/** The neutral error for what node:sqlite threw; what has none stays as it is. */
export function translated(error: unknown): unknown {
  if (isBusy(error)) return new ConflictError(error);
  const code = codeOf(error);
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
