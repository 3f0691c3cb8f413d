/** How a command that cannot do its work says so: in one line when the world is in the way, with its stack when it is a bug. */

/** A failure to tell the user about in one line, without a stack. */
export class CommandFailure extends Error {}

/** The one line about what a file, an address or a database refused; undefined for a bug, whose stack is worth more. */
export function explain(error: unknown): string | undefined {
  if (error instanceof CommandFailure) return error.message;
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== "string") return undefined;
  // A host with several addresses fails once for each, and the sum has no message.
  const { message } = error instanceof AggregateError ? (error.errors[0] as Error) : error;
  if (code.startsWith("ERR_OSSL")) return `--tls-cert and --tls-key: ${message}`;
  return code === "ERR_SQLITE_ERROR" ? `--database: ${message}` : message;
}
