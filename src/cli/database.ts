/** Opens the database for a command that may run beside a server. */
import type { Command } from "commander";
import { type Installation, readInstallation } from "../app/index.ts";
import type { Config } from "../config.ts";
import { type Database, openDatabase } from "../store/index.ts";
import { CommandFailure } from "./failure.ts";
import { settingsOf } from "./settings.ts";

/** How long a command waits for a lock held by the server. */
const busyWaitMs = 10_000;

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
  const database = await openDatabase(config.database, { busyWaitMs, mustExist: !create });
  try {
    await run(database, config);
  } finally {
    await database.close();
  }
}

/** The installation stored in the database. Errors: CommandFailure if the database is not initialised. */
export async function requireInstallation(database: Database): Promise<Installation> {
  const installation = (await database.pendingMigrations()) === 0 ? await readInstallation(database.read) : undefined;
  if (installation === undefined)
    throw new CommandFailure(
      "the database is not initialised or not migrated; run `platform init` or `platform serve`",
    );
  return installation;
}
