/** `platform keys`: manages the keys that sign the platform's own tokens. */
import { Command } from "commander";
import { RotationRefused, rotateSigningKeys } from "../app/index.ts";
import { keysAt, type StoredKey } from "../auth/index.ts";
import { requireInstallation, withDatabase } from "./database.ts";
import { CommandFailure } from "./failure.ts";
import { withSettings } from "./settings.ts";

export function keysCommand(): Command {
  return new Command("keys")
    .description("manage the keys that sign the platform's own tokens")
    .addCommand(listCommand().exitOverride())
    .addCommand(rotateCommand().exitOverride());
}

function listCommand(): Command {
  const command = withSettings(new Command("list"), ["database"])
    .description("print the keys and their state, newest first")
    .option("--json", "print one JSON object for each key");
  return command.action(() =>
    withDatabase(command, async (database) => {
      print((await requireInstallation(database)).signingKeys, command.opts<{ json?: boolean }>().json === true);
    }),
  );
}

function rotateCommand(): Command {
  const command = withSettings(new Command("rotate"), ["database"])
    .description(
      "add a key; running servers publish it within 30 s, and sign with it when cached copies of the key set have expired",
    )
    .option("--json", "print one JSON object for each key");
  return command.action(() =>
    withDatabase(command, async (database) => {
      await requireInstallation(database);
      const keys = await rotateSigningKeys(database, Date.now).catch((error: unknown) => {
        throw error instanceof RotationRefused ? new CommandFailure(error.message) : error;
      });
      print(keys, command.opts<{ json?: boolean }>().json === true);
    }),
  );
}

function print(keys: readonly StoredKey[], asJson: boolean): void {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  for (const { key, state, signTimeMs, retireTimeMs } of keysAt(keys, Date.now())) {
    const facts = { kid: key.kid, state, signTime: time(signTimeMs), retireTime: time(retireTimeMs) };
    const until = facts.retireTime === undefined ? "" : `, retires ${facts.retireTime}`;
    console.log(
      asJson ? JSON.stringify(facts) : `${key.kid}  ${state.padEnd(9)}  signs from ${facts.signTime}${until}`,
    );
  }
}
