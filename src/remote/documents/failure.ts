/** Failures of single calls, for commands that go on with others. */
import { Code } from "@connectrpc/connect";
import { networkReason, PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { changedMeanwhile, exitStatusOf } from "../session/failure.ts";

/** Errors that every other call would get as well. */
const general: readonly Code[] = [
  Code.Unauthenticated,
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
];

/** An error as a failure, and whether every other call would fail in the same way. Other errors are thrown. */
export function failureOf(error: unknown): { readonly failure: CommandFailure; readonly concernsAll: boolean } {
  if (error instanceof CommandFailure) return { failure: error, concernsAll: false };
  if (!(error instanceof PlatformError)) throw error;
  const reason = networkReason(error);
  if (reason !== undefined)
    return { failure: new CommandFailure(`no answer from the server: ${reason}`, 6), concernsAll: true };
  const hint = error.code === Code.Aborted ? `: ${changedMeanwhile}` : "";
  const failure = new CommandFailure(`${error.rawMessage}${hint}`, exitStatusOf(error.code));
  return { failure, concernsAll: general.includes(error.code) };
}
