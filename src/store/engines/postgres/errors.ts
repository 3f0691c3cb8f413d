/** Translates PostgreSQL's error codes and lost connections to the errors of the store. */
import pg from "pg";
import {
  ConflictError,
  DamagedError,
  RefusedError,
  StatementTimeoutError,
  UnavailableError,
  UniqueViolation,
} from "../../sql/errors.ts";

const uniqueViolation = "23505";
const queryCanceled = "57014";
const lockNotAvailable = "55P03";
/**
 * Serialization failure, deadlock; and a prepared statement that does not exist, because its
 * preparation, which was sent before on the same connection, was stopped.
 */
const conflicts = new Set(["40001", "40P01", "26000"]);
/**
 * The server closes connections or refuses new ones (57P0x, class 08, too many connections, idle timeouts), is out of
 * memory or disk space, or is read-only, as a standby is.
 */
const outages = /^(57P0.|08...|53...|58...|25P03|25006)$/;
/** No right to do it, or to any schema; and an extension whose files are missing. */
const noRight = new Set(["42501", "3F000"]);
const noExtension = new Set(["0A000", "58P01"]);
/** A page of a table or of an index cannot be read, or is not what it should be. */
const damage = new Set(["XX001", "XX002"]);
/** Authentication failures, and a database that does not exist. */
const refusals = /^(28...|3D000)$/;

/** Translates the error of a statement. Returns an error that has no translation unchanged. */
export function translated(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error) ? unavailable(error) : error;
  const code = error.code ?? "";
  if (code === uniqueViolation) return new UniqueViolation(constraintOf(error), error);
  if (code === queryCanceled) return new StatementTimeoutError(error);
  if (code === lockNotAvailable) return new ConflictError(error, true);
  if (conflicts.has(code)) return new ConflictError(error);
  if (damage.has(code)) return new DamagedError(error);
  if (noRight.has(code))
    return new RefusedError(
      `the user of the database lacks a right: ${error.message}; make it the owner of the database, or grant it CREATE on the database and on its schema`,
      { cause: error },
    );
  if (noExtension.has(code) && error.message.includes("extension"))
    return new RefusedError(
      `the database server lacks an extension: ${error.message}; install PostgreSQL's contrib modules (Debian: postgresql-contrib)`,
      { cause: error },
    );
  return outages.test(code) ? unavailable(error) : error;
}

/**
 * The name of a unique index. That of a shard ends with the number of the shard, and what a worker reports has it in
 * the message alone.
 */
function constraintOf({ constraint, message }: pg.DatabaseError): string | undefined {
  const name = constraint ?? /unique constraint "(.+)"/.exec(message)?.[1];
  return name?.replace(/_\d+$/, "");
}

/** Translates the error of connecting, before any statement was sent. */
export function notConnected(error: unknown, address: string): Error {
  if (error instanceof RefusedError) return error;
  const isRefusal = error instanceof pg.DatabaseError && refusals.test(error.code ?? "");
  const reason = reasonOf(error);
  return isRefusal
    ? new RefusedError(`the database at ${address} refuses: ${reason}`, { cause: error })
    : new UnavailableError(`the database at ${address} cannot be reached: ${reason}`, error);
}

/** Whether a connection cannot be used after this error: it is lost, or its server has become read-only. */
export function endsConnection(error: unknown): boolean {
  return error instanceof UnavailableError;
}

function unavailable(error: unknown): UnavailableError {
  return new UnavailableError(`the database is not available: ${reasonOf(error)}`, error);
}

/** Node's socket errors have a code. Those that pg makes for a closed connection have only a message. */
function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (
    "syscall" in error ||
    /^(ECONN|EPIPE|ETIMEDOUT|ERR_STREAM|ERR_SOCKET)/.test(String((error as NodeJS.ErrnoException).code))
  )
    return true;
  return /^(Connection terminated|Client (has encountered a connection error|was closed)|timeout e)/.test(
    error.message,
  );
}

/** For a host with several addresses, Node throws an AggregateError without a message. */
function reasonOf(error: unknown): string {
  const one = error instanceof AggregateError ? error.errors[0] : error;
  return one instanceof Error ? one.message : String(one);
}
