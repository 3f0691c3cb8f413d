/**
 * `platform token`: prints a token signed by the platform, for tests and operators. With `--print` it is another
 * command, of `remote`.
 */
import { Command } from "commander";
import { openSigningKeys } from "../app/index.ts";
import { createIssuer, maxTokenLifeSeconds } from "../auth/index.ts";
import { CommandFailure } from "../command/index.ts";
import type { Config } from "../config/index.ts";
import { hasAdministrator, identityExists } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { isUid } from "../uid.ts";
import type { CommandRecord } from "./command-record.ts";
import { requireInstallation, withAuditedDatabase } from "./database.ts";
import { durationMs } from "./duration.ts";
import { withSettings } from "./settings.ts";

export function makeCommand(): Command {
  const command = withSettings(new Command("token"), ["database", "signingKey"])
    .option("--identity <UID>", "identity that the token is for (default: the administrator)")
    .option("--ttl <DURATION>", "lifetime of the token: 90s, 15m, 1h, at most 30d", "1h")
    .option("--print", "print the token of `platform login` instead, renewed if need be; needs no database");
  return command.action(() => withAuditedDatabase(command, mint));

  async function mint(database: Database, config: Config, record: CommandRecord): Promise<void> {
    const { identity, ttl } = command.opts<{ identity?: string; ttl: string }>();
    const ttlSeconds = parseTtl(ttl);
    const installation = await requireInstallation(database);
    const { issuerUrl, administratorUid } = installation;
    if (identity === undefined && !(await hasAdministrator(database.read, administratorUid)))
      throw new CommandFailure("the administrator was deleted or lost its role; `platform init --recover` restores it");
    const subject = identity ?? administratorUid;
    if (!isUid(subject) || !(await identityExists(database.read, subject)))
      throw new CommandFailure(`there is no identity ${JSON.stringify(subject)}`);
    const { keys } = await openSigningKeys(database, installation, config);
    const issuer = await createIssuer({ issuer: issuerUrl, keys, clock: Date.now });
    const token = await issuer.mint({ subject, ttlSeconds });
    await record.write({ resource: subject });
    console.log(token);
  }
}

function parseTtl(text: string): number {
  const seconds = durationMs(text) / 1000;
  if (!(seconds <= maxTokenLifeSeconds))
    throw new CommandFailure(`--ttl must be like 90s, 15m, 1h or 7d and at most 30d, not ${JSON.stringify(text)}`);
  return seconds;
}
