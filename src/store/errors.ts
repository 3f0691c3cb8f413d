/** The three neutral errors of the room; whoever calls translates them once. Anything else that is thrown is a bug or a lost database. */

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

/** What a database throws for a NotUniqueError, before the session adds the table. Never leaves the room. */
export class UniqueViolation extends Error {
  override readonly name = "UniqueViolation";
  readonly constraint: string | undefined;

  constructor(constraint: string | undefined, cause: unknown) {
    super(`unique index ${constraint}`, { cause });
    this.constraint = constraint;
  }
}
