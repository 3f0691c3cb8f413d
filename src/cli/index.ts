/**
 * cli: the command line. Results go to standard output, everything else to standard error. The exit status is 0 for
 * success, 1 for a failure, and 2 for an invalid command line or setting.
 *
 * Every command but `restore` may run beside a server on the same database.
 */
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/index.ts";
import { version } from "../version.ts";
import { accessCommand } from "./access/index.ts";
import { auditCommand } from "./audit/audit.ts";
import { backupCommand } from "./backup/backup.ts";
import { restoreCommand } from "./backup/restore.ts";
import { configCommand } from "./config/index.ts";
import { doctorCommand } from "./doctor/doctor.ts";
import { eventsCommand } from "./events/index.ts";
import { explain, isDebugging } from "./failure.ts";
import { importCommand } from "./import/index.ts";
import { initCommand } from "./init.ts";
import { keysCommand } from "./keys/keys.ts";
import { secretsCommand } from "./keys/secrets.ts";
import { migrateCommand } from "./migrate.ts";
import { openApiCommand } from "./openapi.ts";
import { protoCommand } from "./proto.ts";
import { routesCommand } from "./routes.ts";
import { serveCommand } from "./serve.ts";
import { exportCommand } from "./snapshot/export.ts";
import { tokenCommand } from "./token.ts";

/** Runs a command. Returns the exit status. @param args arguments without the name of the program. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const program = new Command("platform")
    .description("Platform API v2: identity, registry and advisories on one port.")
    .version(version())
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError();
  for (const command of [
    serveCommand,
    configCommand,
    initCommand,
    tokenCommand,
    keysCommand,
    secretsCommand,
    accessCommand,
    auditCommand,
    eventsCommand,
    importCommand,
    exportCommand,
    backupCommand,
    restoreCommand,
    doctorCommand,
    migrateCommand,
    routesCommand,
    protoCommand,
    openApiCommand,
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
