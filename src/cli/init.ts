/**
 * `platform init`: creates the root group, its administrator and a token. With `--recover`, restores the administrator
 * of an initialised database.
 */
import { Command } from "commander";
import { type Installation, install, openSigningKeys, recoverAdministrator } from "../app/index.ts";
import { createIssuer } from "../auth/index.ts";
import { CommandFailure } from "../command/index.ts";
import { baseUrlOf, type Config } from "../config/index.ts";
import type { Database } from "../store/index.ts";
import type { CommandRecord } from "./command-record.ts";
import { requireInstallation, withAuditedDatabase } from "./database.ts";
import { withSettings } from "./settings.ts";

/** Lifetime of the administrator's first token. */
export const firstTokenSeconds = 3600;

export function makeCommand(): Command {
  const command = withSettings(new Command("init"), [
    "database",
    "listen",
    "baseUrl",
    "issuer",
    "tlsCert",
    "tlsKey",
    "signingKey",
  ])
    .option("--json", "print one JSON object")
    .option("--recover", "restore the administrator of an initialised database and print a new token");
  return command.action(() => {
    const { json, recover } = command.opts<{ json?: boolean; recover?: boolean }>();
    const initialise = async (database: Database, config: Config, record: CommandRecord) => {
      const baseUrl = baseUrlOf(config);
      const installation = recover
        ? await recovered(database)
        : await installed(database, config.issuer ?? baseUrl, config.signingKey !== undefined);
      const { issuerUrl, rootGroupUid, administratorUid } = installation;
      const { keys } = await openSigningKeys(database, installation, config);
      const issuer = await createIssuer({ issuer: issuerUrl, keys, clock: Date.now });
      const expireTime = new Date(Math.floor(Date.now() / 1000) * 1000 + firstTokenSeconds * 1000).toISOString();
      const token = await issuer.mint({ subject: administratorUid, ttlSeconds: firstTokenSeconds });
      await record.write({ scope: rootGroupUid, resource: administratorUid });
      const facts = { baseUrl, rootGroupUid, identityUid: administratorUid, token, expireTime };
      console.log(
        json
          ? JSON.stringify(facts)
          : Object.entries(facts)
              .map(([name, value]) => `${name.padEnd(14)}${value}`)
              .join("\n"),
      );
    };
    return withAuditedDatabase(command, initialise, { create: !recover });
  });
}

async function recovered(database: Database): Promise<Installation> {
  const installation = await requireInstallation(database);
  await recoverAdministrator(database, installation, Date.now);
  return installation;
}

async function installed(database: Database, issuerUrl: string, hasGivenKeys: boolean): Promise<Installation> {
  await database.migrate();
  const installation = await install(database, issuerUrl, Date.now, hasGivenKeys);
  if (installation === undefined)
    throw new CommandFailure("the database is already initialised; `--recover` creates a new administrator token");
  return installation;
}
