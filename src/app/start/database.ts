/** The database of a server that starts. */

import { appendAudit, auditEntry, emptyRecord } from "../../audit/index.ts";
import {
  administratorOnly,
  administratorRole,
  builtInRoles,
  indexIdentities,
  notServed,
  refreshDerivedRows,
  separateDirectoryUsers,
} from "../../services/index.ts";
import {
  type Database,
  databasePath,
  importSetting,
  networkFileSystemOf,
  openDatabase,
  RefusedError,
} from "../../store/index.ts";
import { StartFailure } from "../failure.ts";
import { generatedServices } from "../generated-services.ts";
import { type Installation, install, readInstallation, refreshBuiltIns } from "../installation.ts";
import { checkStartup } from "../startup-check.ts";
import type { StartContext } from "./context.ts";
import { migrateDatabase } from "./migration.ts";

/** An open database that is up to date. */
export interface PreparedDatabase {
  readonly database: Database;
  readonly installation: Installation;
  /** Whether it was initialised now. */
  readonly isNew: boolean;
}

/**
 * Makes the tables of an empty database, and applies missing migrations where the settings allow it. Errors:
 * StartFailure.
 */
async function bringUpToDate(
  database: Database,
  context: StartContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { autoMigrate } = context.config;
  let pending = await database.pendingMigrations();
  if (pending.length === 0) return;
  const mayMigrate = autoMigrate === "on" || (autoMigrate === "auto" && database.dialect === "sqlite");
  if (!mayMigrate) {
    await database.migrate(undefined, { onlyIfEmpty: true }); // others may be making the tables at the same time
    pending = await database.pendingMigrations();
    if (pending.length === 0) return;
    throw new StartFailure(
      `the database needs ${pending.length} migration${pending.length === 1 ? "" : "s"}, from ${pending[0]!.name}: run \`platform migrate --plan\`, then \`platform migrate\`, or start with --auto-migrate=on`,
    );
  }
  await migrateDatabase(database, context, pending, signal);
}

/** Opens and migrates the database, and initialises one that is empty. Nothing is left open when that fails. */
export async function prepareDatabase(
  context: StartContext,
  issuerUrl: string,
  signal?: AbortSignal,
): Promise<PreparedDatabase> {
  const { config, api, log, now, metrics } = context;
  const database = await openDatabase(config.database, {
    maxLongQueries: config.maxLongQueries,
    isMeasured: metrics !== undefined,
    pool: {
      connections: config.databaseConnections,
      maxWaiting: config.databaseQueue,
      waitMs: config.databaseQueueWait,
      preparedStatements: config.databasePreparedStatements,
    },
  });
  const path = databasePath(config.database);
  const fileSystem = path === undefined ? undefined : networkFileSystemOf(path);
  if (fileSystem !== undefined) log.warn({ path, fileSystem }, "the database is on a network file system");
  try {
    await bringUpToDate(database, context, signal);
    if ((await database.read.setting(importSetting)) !== undefined)
      throw new RefusedError("an import of a snapshot has not finished: run `platform import snapshot` again");
    checkStartup({
      services: api.services,
      contract: api.contract,
      generated: await generatedServices(),
      notServed,
      roles: [...builtInRoles.values()].filter(({ name }) => name !== administratorRole),
      administratorOnly,
      columns: await database.columns(),
      indexes: database.indexes(),
    });
    const existing = await readInstallation(database.read);
    const made =
      existing === undefined ? await install(database, issuerUrl, now, config.signingKey !== undefined) : undefined;
    const installation = existing ?? made ?? (await readInstallation(database.read));
    if (installation === undefined) throw new Error("the database lost its installation while it was prepared");
    if (made === undefined) await refreshBuiltIns(database, now);
    await indexIdentities(database);
    await separateDirectoryUsers(database, async (session, { identity, provider, bindings }) => {
      const record = { ...emptyRecord, method: "iam/directory_entry", scope: provider, resource: identity };
      await appendAudit(session, auditEntry({ ...record, code: "OK", count: 1 }, now()));
      log.warn({ identity, provider, bindings }, "a user of a directory is not an identity until it signs in");
    });
    await refreshDerivedRows(database, now);
    return { database, installation, isNew: made !== undefined };
  } catch (error) {
    await database.close();
    throw error;
  }
}
