/** Failures of single calls, for commands that go on with others. */
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command-failure.ts";

/** The exit status of each class of errors; 1 for others. */
const statuses: Readonly<Partial<Record<Code, number>>> = {
  [Code.NotFound]: 3,
  [Code.Unauthenticated]: 4,
  [Code.PermissionDenied]: 4,
  [Code.AlreadyExists]: 5,
  [Code.Aborted]: 5,
  [Code.FailedPrecondition]: 5,
  [Code.Unavailable]: 6,
  [Code.DeadlineExceeded]: 6,
  [Code.InvalidArgument]: 7,
  [Code.OutOfRange]: 7,
  [Code.ResourceExhausted]: 8,
};

/** Errors that every other call would get as well. */
const general: readonly Code[] = [Code.Unauthenticated, Code.Unavailable, Code.ResourceExhausted];

/** An error as a failure, and whether every other call would fail in the same way. Other errors are thrown. */
export function failureOf(error: unknown): { readonly failure: CommandFailure; readonly concernsAll: boolean } {
  if (error instanceof CommandFailure) return { failure: error, concernsAll: false };
  if (!(error instanceof PlatformError)) throw error;
  if (error.cause instanceof TypeError)
    // of fetch: there is no answer
    return { failure: new CommandFailure(`no answer from the server: ${error.rawMessage}`, 6), concernsAll: true };
  const failure = new CommandFailure(error.rawMessage, statuses[error.code] ?? 1);
  return { failure, concernsAll: general.includes(error.code) };
}
