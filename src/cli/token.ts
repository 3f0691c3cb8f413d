/** `platform token`: prints a token signed by the platform, for tests and operators. */
import { Command } from "commander";
import { createIssuer, maxTokenLifeSeconds } from "../auth/index.ts";
import { identityExists } from "../services/index.ts";
import { isUid } from "../uid.ts";
import { requireInstallation, withDatabase } from "./database.ts";
import { durationMs } from "./duration.ts";
import { CommandFailure } from "./failure.ts";
import { withSettings } from "./settings.ts";

export function tokenCommand(): Command {
  const command = withSettings(new Command("token"), ["database"])
    .description("print a token signed by the platform")
    .option("--identity <UID>", "identity that the token is for (default: the administrator)")
    .option("--ttl <DURATION>", "lifetime of the token: 90s, 15m, 1h, at most 30d", "1h");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { identity, ttl } = command.opts<{ identity?: string; ttl: string }>();
      const ttlSeconds = parseTtl(ttl);
      const { issuerUrl, signingKeys, administratorUid } = await requireInstallation(database);
      const subject = identity ?? administratorUid;
      if (!isUid(subject) || !(await identityExists(database.read, subject)))
        throw new CommandFailure(`there is no identity ${JSON.stringify(subject)}`);
      const issuer = await createIssuer({ issuer: issuerUrl, keys: signingKeys, clock: Date.now });
      console.log(await issuer.mint({ subject, ttlSeconds }));
    }),
  );
}

function parseTtl(text: string): number {
  const seconds = durationMs(text) / 1000;
  if (!(seconds <= maxTokenLifeSeconds))
    throw new CommandFailure(`--ttl must be like 90s, 15m, 1h or 7d and at most 30d, not ${JSON.stringify(text)}`);
  return seconds;
}
