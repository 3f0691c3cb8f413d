/** How a command that cannot do its work says so: in one line, with the setting to change where there is one. */
import { StartFailure } from "../server/index.ts";
import { ConflictError, RefusedError, UnavailableError } from "../store/index.ts";

/** A failure to tell the user about in one line, without a stack. */
export class CommandFailure extends Error {}

/** The one line about a failure. A bug says that it is one: its stack is shown where debugging is asked for. */
export function explain(error: unknown): string {
  return (
    explainKnown(error) ??
    `internal error: ${error instanceof Error ? error.message : String(error)} (--log-level debug prints its stack)`
  );
}

/** The line about what a file, an address or a database refused. */
function explainKnown(error: unknown): string | undefined {
  if (error instanceof CommandFailure || error instanceof StartFailure) return error.message;
  if (error instanceof ConflictError) return "--database: the database is locked by another program; try again";
  if (error instanceof UnavailableError || error instanceof RefusedError) return `--database: ${error.message}`;
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== "string") return undefined;
  // A host with several addresses fails once for each, and the sum has no message.
  const { message } = error instanceof AggregateError ? (error.errors[0] as Error) : error;
  return code === "ERR_SQLITE_ERROR" ? `--database: ${message}` : message;
}

/** Whether a command line, or the environment, asks for the log lines that help to find a bug. */
export function isDebugging(args: readonly string[]): boolean {
  const at = args.lastIndexOf("--log-level");
  const given = args.find((arg) => arg.startsWith("--log-level="))?.slice("--log-level=".length);
  return ((at >= 0 ? args[at + 1] : given) ?? process.env.PLATFORM_LOG_LEVEL) === "debug";
}
