/**
 * The command line. A command reads its settings, does one thing, and says what it did: results on standard output, everything else on
 * standard error. Exit status 0 is success, 1 a failure that the message explains, 2 a command line or setting that cannot be used.
 *
 * No command changes what a running server relies on: all of them may run beside one, on the same database.
 */
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config.ts";
import { auditCommand } from "./audit.ts";
import { eventsCommand } from "./events.ts";
import { explain, isDebugging } from "./failure.ts";
import { importCommand } from "./import.ts";
import { initCommand } from "./init.ts";
import { keysCommand } from "./keys.ts";
import { migrateCommand } from "./migrate.ts";
import { protoCommand } from "./proto.ts";
import { routesCommand } from "./routes.ts";
import { serveCommand } from "./serve.ts";
import { tokenCommand } from "./token.ts";
import { version } from "./version.ts";

/** A failure to tell the user about, without a stack. */
export { CommandFailure } from "./failure.ts";

/** Runs one command to its end. `args`: without the program's own name. Returns the exit status. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const program = new Command("platform")
    .description("Platform API v2: identity, registry and advisories on one port.")
    .version(version())
    .exitOverride()
    .showSuggestionAfterError();
  for (const command of [
    serveCommand,
    initCommand,
    tokenCommand,
    keysCommand,
    auditCommand,
    eventsCommand,
    importCommand,
    migrateCommand,
    routesCommand,
    protoCommand,
  ]) {
    program.addCommand(command().exitOverride());
  }
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof ConfigError) {
      console.error(`error: ${error.message}`);
      return 2;
    }
    console.error(`error: ${explain(error)}`);
    if (isDebugging(args)) console.error(error);
    return 1;
  }
}
