/** Errors of the database, translated for callers. */
import { ConnectError } from "@connectrpc/connect";
import { aborted, dataLoss, deadlineExceeded, internal, resourceExhausted, unavailable, undecided } from "../errors.ts";
import {
  ConflictError,
  DamagedError,
  OverloadError,
  RefusedError,
  StaleError,
  StatementTimeoutError,
  UnavailableError,
} from "../store/index.ts";

/** Whether an error means that the database is unavailable, or a part of it that another program keeps locked. */
export function isOutage(error: unknown): error is UnavailableError | RefusedError | ConflictError {
  return error instanceof UnavailableError || error instanceof RefusedError || isLocked(error);
}

function isLocked(error: unknown): error is ConflictError {
  return error instanceof ConflictError && error.isLocked;
}

/**
 * The error for the caller. An error that is neither a ConnectError nor the database's is a bug: INTERNAL. A change
 * that may have been committed is UNKNOWN, because clients repeat calls that are UNAVAILABLE.
 */
export function callersError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (isLocked(error)) return unavailable("the database is locked by another program; try again");
  if (error instanceof StaleError || error instanceof ConflictError)
    return aborted("another change came first; try again");
  if (error instanceof StatementTimeoutError) return deadlineExceeded("the database took too long");
  if (error instanceof OverloadError)
    return error.isOfCaller
      ? resourceExhausted("", "too many lists of this caller wait for the database", 1000)
      : unavailable("too many calls wait for the database");
  if (error instanceof UnavailableError && error.isUndecided)
    return undecided(
      "the database failed while it committed the change, which may have been made; read before trying again",
    );
  if (error instanceof DamagedError) return dataLoss("what is stored is damaged; the operator must restore it");
  if (isOutage(error)) return unavailable("the database is not available; try again");
  return internal(error);
}
