/** `platform logout`: ends the session of a profile at its server, and removes the profile. */
import { Command } from "commander";
import { PlatformError, revokeToken } from "../../client/index.ts";
import { lockProfile, readProfile, removeProfile } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { caOption } from "../session/authority.ts";
import { failureOfCall } from "../session/failure.ts";
import { profileOption, withChosenProfile } from "../session/session.ts";
import { remainingTime } from "./remaining-time.ts";

export function makeCommand(): Command {
  const command = new Command("logout")
    .addOption(profileOption)
    .addOption(caOption)
    .option("--local", "remove the profile only; its session goes on until it ends by itself");
  return command.action(() =>
    withChosenProfile(command.opts(), async ({ name }) => {
      const release = await lockProfile(name);
      try {
        await logout(name, command.opts<{ local?: true }>().local === true);
      } finally {
        await release();
      }
    }),
  );
}

async function logout(name: string, isLocal: boolean): Promise<void> {
  const profile = await readProfile(name);
  if (profile === undefined) {
    console.log(`Nobody is signed in with profile ${name}`);
    return;
  }
  const { server, refreshToken, expireTimeMs = 0 } = profile;
  if (!isLocal && refreshToken !== undefined) {
    try {
      await revokeToken({ server }, refreshToken);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      const failure = failureOfCall(error, server);
      const hint = "hint: --local removes the profile nevertheless";
      throw new CommandFailure(
        [...failure.linesAfter("the session is not ended and the profile is kept"), hint],
        failure.exitStatus,
      );
    }
  }
  await removeProfile(name);
  // The token of the profile is the last that was given out.
  const isValid = expireTimeMs > Date.now();
  const left = isValid ? `. Its access token is valid for another ${remainingTime(expireTimeMs)}` : "";
  console.log(`Signed out of ${server}${left}`);
}
