/** The errors of the store, the same for every database. Anything else that it throws is a bug. */

/** A row with the same unique key exists. The session takes no further statement. */
export class NotUniqueError extends Error {
  override readonly name = "NotUniqueError";
  readonly table: string;
  /** The unique index, `<table>_<column>_<column>`, where the database reports it. */
  readonly constraint: string | undefined;

  constructor(table: string, constraint: string | undefined, cause: unknown) {
    super(`not unique: ${constraint ?? table}`, { cause });
    this.table = table;
    this.constraint = constraint;
  }
}

/** The row to update has another version than the one that was read, or is gone. */
export class StaleError extends Error {
  override readonly name = "StaleError";

  constructor(table: string, uid: string) {
    super(`stale: ${table} ${uid}`);
  }
}

/**
 * The transaction lost against other writers too often, or what it needs stayed locked. Nothing was written. It can be
 * retried.
 */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  /** Whether it waited for a lock until it gave up. Callers hold none for so long: another program does. */
  readonly isLocked: boolean;

  constructor(cause: unknown, isLocked = false) {
    super(isLocked ? "the database is locked by another program" : "conflict with other writers", { cause });
    this.isLocked = isLocked;
  }
}

/**
 * The database cannot be reached, refuses connections, or cannot write its disk. Nothing was written, unless
 * `isUndecided`.
 */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
  /** Whether the transaction may have been committed: the reply to its COMMIT was lost. */
  readonly isUndecided: boolean;

  constructor(message: string, cause: unknown, isUndecided = false) {
    super(message, { cause });
    this.isUndecided = isUndecided;
  }
}

/**
 * A part of the database is damaged: what is stored there cannot be read. Nothing was written. Retrying does not help,
 * and other rows can be read.
 */
export class DamagedError extends Error {
  override readonly name = "DamagedError";

  constructor(cause: unknown) {
    super(
      `a part of the database cannot be read (${(cause as Error).message}): run \`platform doctor --deep\`, and restore a backup`,
      { cause },
    );
  }
}

/**
 * The database cannot be opened or migrated, and retrying does not help: a wrong password, no database at the path, a
 * newer schema.
 */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}

/** A statement was cancelled because it took longer than the database allows. Nothing was written. */
export class StatementTimeoutError extends Error {
  override readonly name = "StatementTimeoutError";

  constructor(cause: unknown) {
    super("a statement was cancelled", { cause });
  }
}

/** Too many queries or transactions wait, of this caller or in total, or one has waited for too long. */
export class OverloadError extends Error {
  override readonly name = "OverloadError";
  readonly isOfCaller: boolean;

  constructor(isOfCaller: boolean) {
    super(isOfCaller ? "too many queries of one caller wait" : "too many wait for the database");
    this.isOfCaller = isOfCaller;
  }
}

/** What a connection throws for a NotUniqueError, before the session adds the table. Internal to the store. */
export class UniqueViolation extends Error {
  override readonly name = "UniqueViolation";
  readonly constraint: string | undefined;

  constructor(constraint: string | undefined, cause: unknown) {
    super(`unique index ${constraint}`, { cause });
    this.constraint = constraint;
  }
}
