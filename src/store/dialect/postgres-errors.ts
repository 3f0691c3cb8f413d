/** PostgreSQL's error codes and lost connections in the room's terms. */
import pg from "pg";
import { ConflictError, RefusedError, StatementTimeoutError, UnavailableError, UniqueViolation } from "../errors.ts";

const uniqueViolation = "23505";
const queryCanceled = "57014";
const conflicts = new Set(["40001", "40P01", "55P03"]); // serialization failure, deadlock, lock not available
/**
 * The server ends connections or refuses new ones (57P0x, class 08, too many connections, time-outs of idle connections), has no memory or disk, or
 * only takes reads, as a standby does.
 */
const outages = /^(57P0.|08...|53...|58...|25P03|25006)$/;
/** Authentication, and a database that does not exist. */
const refusals = /^(28...|3D000)$/;

/** The neutral error for what a statement threw; what has none stays as it is. */
export function translated(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error) ? unavailable(error) : error;
  const code = error.code ?? "";
  if (code === uniqueViolation) return new UniqueViolation(error.constraint, error);
  if (code === queryCanceled) return new StatementTimeoutError(error);
  if (conflicts.has(code)) return new ConflictError(error);
  return outages.test(code) ? unavailable(error) : error;
}

/** The neutral error for what kept a connection from being made: no statement has been sent. */
export function notConnected(error: unknown, address: string): Error {
  const isRefusal = error instanceof pg.DatabaseError && refusals.test(error.code ?? "");
  const reason = reasonOf(error);
  return isRefusal
    ? new RefusedError(`the database at ${address} refuses: ${reason}`, { cause: error })
    : new UnavailableError(`the database at ${address} cannot be reached: ${reason}`, error);
}

/** Whether a connection is of no use after this: it is lost, or its server has become one that only takes reads. */
export function endsConnection(error: unknown): boolean {
  return error instanceof UnavailableError;
}

function unavailable(error: unknown): UnavailableError {
  return new UnavailableError(`the database is not available: ${reasonOf(error)}`, error);
}

/** Node's errors of sockets have a code; those that pg makes of a connection that has ended only a message. */
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

/** A host with several addresses fails once for each, and the sum has no message. */
function reasonOf(error: unknown): string {
  const one = error instanceof AggregateError ? error.errors[0] : error;
  return one instanceof Error ? one.message : String(one);
}
