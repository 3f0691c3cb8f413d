/** Failures of single calls, for commands that go on with others. */
import { Code } from "@connectrpc/connect";
import { networkReason, PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { failureOfCall, failureOfProfile } from "../session/failure.ts";

/** Errors that every other call would get as well. */
const general: readonly Code[] = [
  Code.Unauthenticated,
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
];

/**
 * An error as a failure, and whether every other call would fail in the same way. Other errors are thrown.
 * @param server the base URL of the server that was called.
 */
export function failureOf(
  error: unknown,
  server: string,
): { readonly failure: CommandFailure; readonly concernsAll: boolean } {
  if (error instanceof CommandFailure) return { failure: error, concernsAll: false };
  if (!(error instanceof PlatformError)) throw error;
  const concernsAll =
    networkReason(error) !== undefined || failureOfProfile(error) !== undefined || general.includes(error.code);
  return { failure: failureOfCall(error, server), concernsAll };
}
