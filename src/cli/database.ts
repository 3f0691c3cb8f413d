/** Opens the database for a command that may run beside a server. */
import type { Command } from "commander";
import { type Installation, readInstallation } from "../app/index.ts";
import { CommandFailure } from "../command/index.ts";
import type { Config } from "../config/index.ts";
import { type Database, openDatabase, RefusedError } from "../store/index.ts";
import { type CommandDetails, type CommandRecord, recordOf } from "./command-record.ts";
import { settingsOf } from "./settings.ts";

/** How long a command waits for a lock held by the server. */
const busyWaitMs = 10_000;

/** Opens the database of the settings for a command. @param create whether to create a missing SQLite file. */
export function openForCommand({ database }: Config, create: boolean): Promise<Database> {
  return openDatabase(database, { busyWaitMs, mustExist: !create });
}

/**
 * Opens the database of the command's settings, runs `run`, and closes the database.
 * @param create whether to create a missing SQLite file.
 */
export async function withDatabase(
  command: Command,
  run: (database: Database, config: Config) => Promise<void>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<void> {
  const config = settingsOf(command);
  const database = await openForCommand(config, create);
  try {
    await run(database, config);
  } finally {
    await database.close();
  }
}

/**
 * The same for a command that changes something. The audit log records that it ran, and how it ended, unless `run` has
 * written its record.
 */
export function withAuditedDatabase(
  command: Command,
  run: (database: Database, config: Config, record: CommandRecord) => Promise<void>,
  options?: { readonly create?: boolean },
): Promise<void> {
  const audited = async (database: Database, config: Config) => {
    const record = recordOf(command, database);
    const finish = async (details?: CommandDetails) => {
      if (!record.isWritten && (await isInitialised(database))) await record.write(details);
    };
    try {
      await run(database, config, record);
      await finish();
    } catch (error) {
      // The database may be what has failed: then only the error is reported.
      const code = error instanceof CommandFailure ? "FAILED_PRECONDITION" : "INTERNAL";
      await finish({ code }).catch(() => {});
      throw error;
    }
  };
  return withDatabase(command, audited, options);
}

/** Writes the record of a command that did its work on a file, not on an open database. */
export function auditRun(command: Command): Promise<void> {
  return withAuditedDatabase(command, async () => {});
}

/**
 * Whether a record can be written: not in a database of another version, nor in an empty one, which it would keep from
 * importing a snapshot.
 */
async function isInitialised(database: Database): Promise<boolean> {
  try {
    return (await database.pendingMigrations()).length === 0 && (await readInstallation(database.read)) !== undefined;
  } catch (error) {
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

/**
 * The installation stored in the database. Errors: CommandFailure if the database is not initialised, or its schema is
 * older.
 */
export async function requireInstallation(database: Database): Promise<Installation> {
  const { length: pending } = await database.pendingMigrations();
  if (pending > 0 && (await database.columns()).size > 0)
    throw new CommandFailure(`${missingMigrations(pending)}: ${migrationAdvice}`);
  const installation = pending === 0 ? await readInstallation(database.read) : undefined;
  if (installation === undefined)
    throw new CommandFailure("the database is not initialised; run `platform init` or `platform serve`");
  return installation;
}

/** What is wrong with a database that lacks migrations. */
export function missingMigrations(count: number): string {
  return `${count} migration${count === 1 ? "" : "s"} missing`;
}

/** What to do about {@link missingMigrations}. */
export const migrationAdvice = "`platform migrate` applies them, see docs/upgrade.md";
