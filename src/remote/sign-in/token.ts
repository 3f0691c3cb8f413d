/** `platform token --print`: the token that commands send, for other programs. */
import { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { inSession, withSession } from "../session/session.ts";

export function makeCommand(): Command {
  const command = withSession(new Command("token")).requiredOption("--print", "print the token that commands send");
  return command.action(() =>
    inSession(command, async ({ server, token }) => {
      const text = await token?.token({ server });
      if (text === undefined) throw new CommandFailure(`nobody is signed in to ${server}; use: platform login`, 4);
      console.log(text);
    }),
  );
}
