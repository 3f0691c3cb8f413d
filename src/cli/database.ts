/** Opens the database for a command that may run beside a server. */
import type { Command } from "commander";
import type { Config } from "../config.ts";
import { type Installation, readInstallation } from "../server/index.ts";
import { type Database, openDatabase } from "../store/index.ts";
import { CommandFailure } from "./failure.ts";
import { settingsOf } from "./settings.ts";

/** A command may wait this long for a lock that the server holds. */
const busyWaitMs = 10_000;

/** Runs `work` with the database of the command's settings and closes it afterwards. A file that is missing is made only by commands that may `create`. */
export async function withDatabase(
  command: Command,
  work: (database: Database, config: Config) => Promise<void>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<void> {
  const config = settingsOf(command);
  const database = await openDatabase(config.database, { busyWaitMs, mustExist: !create });
  try {
    await work(database, config);
  } finally {
    await database.close();
  }
}

/** What an initialised database says about itself. Errors: CommandFailure when it is not initialised. */
export async function requireInstallation(database: Database): Promise<Installation> {
  const installation = (await database.pendingMigrations()) === 0 ? await readInstallation(database.read) : undefined;
  if (installation === undefined)
    throw new CommandFailure(
      "the database is not initialised or not migrated; run `platform init` or `platform serve`",
    );
  return installation;
}
