/** Error messages of commands: one line, with the setting to change if there is one. */
import { IncompleteError, StartFailure } from "../app/index.ts";
import { CommandFailure } from "../command/index.ts";
import { printable } from "../log-text.ts";
import { ConflictError, DamagedError, RefusedError, UnavailableError } from "../store/index.ts";

/** The line to print for an error. The line for a bug says so, and how to print its stack. */
export function explain(error: unknown): string {
  if (error instanceof CommandFailure || error instanceof IncompleteError) return error.message;
  return printable(
    explainKnown(error) ??
      `internal error: ${error instanceof Error ? error.message : String(error)} (--log-level debug prints its stack)`,
  );
}

/** The line for an error of a file, an address or a database; undefined for a bug. */
function explainKnown(error: unknown): string | undefined {
  if (error instanceof StartFailure) return error.message;
  if (error instanceof ConflictError) return `--database: ${error.message}; try again`;
  if (error instanceof UnavailableError || error instanceof RefusedError || error instanceof DamagedError)
    return `--database: ${error.message}`;
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== "string") return undefined;
  // A host with several addresses fails once for each; the aggregate has no message.
  const { message } = error instanceof AggregateError ? (error.errors[0] as Error) : error;
  return code === "ERR_SQLITE_ERROR" ? `--database: ${message}` : message;
}

/** Whether the command line or the environment sets the log level `debug`. */
export function isDebugging(args: readonly string[]): boolean {
  const at = args.lastIndexOf("--log-level");
  const given = args.find((arg) => arg.startsWith("--log-level="))?.slice("--log-level=".length);
  return ((at >= 0 ? args[at + 1] : given) ?? process.env.PLATFORM_LOG_LEVEL) === "debug";
}
