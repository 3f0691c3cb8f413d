/** Failures of single documents. */
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command-failure.ts";

/** An error as a failure, and whether every other call would fail in the same way. Other errors are thrown. */
export function failureOf(error: unknown): { readonly failure: CommandFailure; readonly concernsAll: boolean } {
  if (error instanceof CommandFailure) return { failure: error, concernsAll: false };
  if (!(error instanceof PlatformError)) throw error;
  const status = error.code === Code.NotFound ? 3 : 1;
  const concernsAll = [Code.Unauthenticated, Code.Unavailable].includes(error.code);
  return { failure: new CommandFailure(error.message, status), concernsAll };
}
