/** The neutral errors of the room; whoever calls translates them once. Anything else that is thrown is a bug. */

/** A row with the same unique key is there already. The session that met it takes no further statement. */
export class NotUniqueError extends Error {
  override readonly name = "NotUniqueError";
  readonly table: string;
  /** The unique index, `<table>_<column>_<column>`, where the database tells it. */
  readonly constraint: string | undefined;

  constructor(table: string, constraint: string | undefined, cause: unknown) {
    super(`not unique: ${constraint ?? table}`, { cause });
    this.table = table;
    this.constraint = constraint;
  }
}

/** The row to update has another version than the one read, or is gone. */
export class StaleError extends Error {
  override readonly name = "StaleError";

  constructor(table: string, uid: string) {
    super(`stale: ${table} ${uid}`);
  }
}

/** The work met other writers and lost again and again, or the database stayed locked. Nothing was written; it may be tried again. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";

  constructor(cause: unknown) {
    super("conflict with other writers", { cause });
  }
}

/**
 * The database cannot be used now: it cannot be reached, it refuses connections, or its disk cannot be written. Nothing was written, unless
 * `isUndecided`.
 */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
  /** Whether the answer to a COMMIT was lost: the transaction may have been committed. */
  readonly isUndecided: boolean;

  constructor(message: string, cause: unknown, isUndecided = false) {
    super(message, { cause });
    this.isUndecided = isUndecided;
  }
}

/** The database cannot be opened or migrated, nor will be by trying again: a wrong password, no database at this path, one of a newer program. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}

/** A statement was cancelled, because it took longer than the database allows. Nothing was written. */
export class StatementTimeoutError extends Error {
  override readonly name = "StatementTimeoutError";

  constructor(cause: unknown) {
    super("a statement was cancelled", { cause });
  }
}

/** What a database throws for a NotUniqueError, before the session adds the table. Never leaves the room. */
export class UniqueViolation extends Error {
  override readonly name = "UniqueViolation";
  readonly constraint: string | undefined;

  constructor(constraint: string | undefined, cause: unknown) {
    super(`unique index ${constraint}`, { cause });
    this.constraint = constraint;
  }
}
