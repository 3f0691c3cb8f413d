/** `platform secrets`: manages the encryption of secrets in the database. */
import { Command } from "commander";
import { type ResealedKind, rotateSecrets } from "../../app/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { requireInstallation, withAuditedDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";

interface Options {
  readonly discardLost?: boolean;
  readonly json?: boolean;
}

export function makeCommand(): Command {
  return new Command("secrets").addCommand(rotateCommand());
}

function rotateCommand(): Command {
  const command = withSettings(new Command("rotate"), ["database", "secretKey"])
    .description(
      "encrypt every secret with the first key of --secret-key, beside running servers; run again after an interruption, it continues",
    )
    .option("--discard-lost", "remove secrets that no key decrypts, and disable subscriptions that had one")
    .option("--json", "print one JSON object for each kind of secret");
  return command.action(() =>
    withAuditedDatabase(command, async (database, config) => {
      const { discardLost = false, json = false } = command.opts<Options>();
      await requireInstallation(database);
      const { kinds, isComplete } = await rotateSecrets(database, config, discardLost, Date.now);
      for (const kind of kinds) console.log(json ? JSON.stringify(kind) : lineOf(kind));
      const lost = kinds.reduce((sum, kind) => sum + kind.lost, 0);
      if (lost > 0)
        throw new CommandFailure(
          `${lost} secrets were encrypted with a key that is not given: give it too, separated by a comma, ` +
            "or discard them with --discard-lost",
        );
      if (!isComplete)
        throw new CommandFailure(
          "a server still encrypts with another key: restart every server with this --secret-key, then run this again",
        );
      if (!json) console.log("every secret is encrypted with the first key; servers need no other");
    }),
  );
}

function lineOf({ kind, secrets, resealed, lost, discarded }: ResealedKind): string {
  const notes = [`${secrets}`, `${resealed} encrypted again`];
  if (lost > 0) notes.push(`${lost} lost`);
  if (discarded.length > 0) notes.push(`${discarded.length} discarded: ${discarded.join(" ")}`);
  return `${kind}: ${notes.join(", ")}`;
}
