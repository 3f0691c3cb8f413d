/** `platform keys`: manages the keys that sign the platform's own tokens. */
import { Command } from "commander";
import {
  type Installation,
  KeyChangeRefused,
  openSigningKeys,
  revokeSigningKey,
  rotateSigningKeys,
} from "../../app/index.ts";
import { keysAt, type SigningKey } from "../../auth/index.ts";
import { CommandFailure } from "../../command/index.ts";
import type { Config } from "../../config/index.ts";
import type { Database } from "../../store/index.ts";
import { requireInstallation, withAuditedDatabase, withDatabase } from "../database.ts";
import { withSettings } from "../settings.ts";

export function makeCommand(): Command {
  return new Command("keys").addCommand(listCommand()).addCommand(rotateCommand()).addCommand(revokeCommand());
}

function listCommand(): Command {
  const command = withSettings(new Command("list"), ["database", "signingKey"])
    .description("print the keys and their state, those of --signing-key first, then the newest first")
    .option("--json", "print one JSON object for each key");
  return command.action(() =>
    withDatabase(command, async (database, config) => {
      const installation = await requireInstallation(database);
      print(await keysOf(database, installation, config), installation.revokedKeys, isJson(command));
    }),
  );
}

function rotateCommand(): Command {
  const command = withSettings(new Command("rotate"), ["database", "signingKey"])
    .description(
      "add a key; running servers publish it within 30 s, and sign with it when cached copies of the key set have expired",
    )
    .option("--json", "print one JSON object for each key");
  return command.action(() =>
    withAuditedDatabase(command, async (database, { signingKey }, record) => {
      if (signingKey !== undefined)
        throw new CommandFailure("the keys are those of --signing-key: add one at its end, later move it to the front");
      await requireInstallation(database);
      const { signingKeys, revokedKeys } = await rotateSigningKeys(database, Date.now, (session) =>
        record.append(session),
      ).catch(explainRefusal);
      print(signingKeys, revokedKeys, isJson(command));
    }),
  );
}

function revokeCommand(): Command {
  const command = withSettings(new Command("revoke"), ["database", "signingKey"])
    .description(
      "refuse all tokens that a key has signed, on every server from the next call on, for ever; refresh tokens stay valid",
    )
    .argument("<KID>", "the key, as `platform keys list` prints it")
    .allowUnknownOption() // a KID may begin with a hyphen
    .option("--json", "print one JSON object for each key");
  return command.action((kid: string) =>
    withAuditedDatabase(command, async (database, config, record) => {
      const before = await requireInstallation(database);
      const keys = await keysOf(database, before, config);
      const given = keys.filter((key) => !before.signingKeys.some((stored) => stored.kid === key.kid));
      const { installation, successor } = await revokeSigningKey(database, kid, given, Date.now, (session) =>
        record.append(session, { resource: kid }),
      ).catch(explainRefusal);
      const left = keys.filter((key) => given.includes(key) && key.kid !== kid);
      print([...left, ...installation.signingKeys], installation.revokedKeys, isJson(command));
      if (isJson(command)) return;
      console.log(`${kid} is revoked: no server accepts its tokens any more`);
      if (successor !== undefined)
        console.log(
          `${successor} signs now: others that cache the platform's keys may refuse its tokens for up to 5 minutes`,
        );
    }),
  );
}

function isJson(command: Command): boolean {
  return command.opts<{ json?: boolean }>().json === true;
}

function explainRefusal(error: unknown): never {
  throw error instanceof KeyChangeRefused ? new CommandFailure(error.message) : error;
}

async function keysOf(database: Database, installation: Installation, config: Config): Promise<readonly SigningKey[]> {
  return (await openSigningKeys(database, installation, config)).keys;
}

function print(keys: readonly SigningKey[], revoked: readonly string[], asJson: boolean): void {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  for (const { key, state, source, signTimeMs, retireTimeMs } of keysAt(keys, Date.now())) {
    const facts = { kid: key.kid, state, source, signTime: time(signTimeMs), retireTime: time(retireTimeMs) };
    const from = facts.signTime === undefined ? "" : `  signs from ${facts.signTime}`;
    const until = facts.retireTime === undefined ? "" : `, retires ${facts.retireTime}`;
    console.log(
      asJson ? JSON.stringify(facts) : `${key.kid}  ${state.padEnd(9)}  ${source.padEnd(8)}${from}${until}`.trimEnd(),
    );
  }
  for (const kid of revoked) console.log(asJson ? JSON.stringify({ kid, state: "revoked" }) : `${kid}  revoked`);
}
