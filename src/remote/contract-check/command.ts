/** `platform contract check`. */
import { Command, Option } from "commander";
import { CommandFailure, ProgressLine, stopSignal } from "../../command/index.ts";
import { inSession, withSession } from "../session/session.ts";
import { formats } from "./report.ts";
import { checkContract } from "./run.ts";

interface Options {
  readonly group?: string;
  readonly output: keyof typeof formats;
}

export function contractCommand(): Command {
  return new Command("contract").description("check servers against the contract").addCommand(checkCommand());
}

function checkCommand(): Command {
  return withSession(new Command("check"))
    .description(
      "Check that a server speaks the contract, from outside: authentication, errors, lists, field masks, etags and " +
        "authorization, the same over REST, Connect and gRPC. It works in a group of its own, which it deletes at the " +
        "end. The exit status is 1 if anything differs.",
    )
    .option("--group <UID>", "group to work in (default: the first root group)")
    .addOption(new Option("-o, --output <FORMAT>", "what to print").choices(Object.keys(formats)).default("text"))
    .action(async ({ group, output }: Options, command: Command) =>
      inSession(command, async ({ server, token, timeoutMs }) => {
        const text = await token?.token({ server });
        if (text === undefined) throw new CommandFailure("a check needs a token: --token or PLATFORM_TOKEN", 4);
        const progress = new ProgressLine();
        const onProgress = (what: string) => progress.show(() => what);
        const { signal, release } = stopSignal();
        const options = { server, token: text, group, timeoutMs, signal, onProgress };
        const results = await checkContract(options).finally(() => {
          progress.clear();
          release();
        });
        process.stdout.write(formats[output](results));
        if (results.some(({ outcome }) => outcome === "differs")) throw new CommandFailure("", 1);
      }),
    );
}
