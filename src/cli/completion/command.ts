/** `platform completion`, and the hidden command that its scripts call. */
import { Argument, Command } from "commander";
import { readLine, replyFor } from "./bash-line.ts";
import { candidatesFor } from "./candidates.ts";
import { completionScripts } from "./scripts.ts";

export function makeCommand(): Command {
  const shells = Object.keys(completionScripts) as (keyof typeof completionScripts)[];
  return new Command("completion")
    .description(
      "Print the script that completes commands, options and the names of resources in a shell. For bash: " +
        "source <(platform completion bash)",
    )
    .addArgument(new Argument("<SHELL>").choices(shells))
    .action((shell: (typeof shells)[number]) => void process.stdout.write(completionScripts[shell]));
}

/**
 * `platform __complete -- WORDS…`: the candidates for the last word, each with a tab and its description. With
 * `--line`, of bash, only those that begin with the word, quoted.
 * @param programFor the program that runs a command line.
 */
export function completeCommand(programFor: (args: readonly string[]) => Promise<Command>): Command {
  return new Command("__complete")
    .argument("[WORDS...]")
    .option("--line <TEXT>")
    .option("--breaks <CHARACTERS>")
    .action(async (given: readonly string[], options: { readonly line?: string; readonly breaks?: string }) => {
      const line = options.line === undefined ? undefined : readLine(options.line, options.breaks ?? "");
      const words = line?.words.slice(1) ?? given;
      const found = await candidatesFor(await programFor(words.slice(0, -1)), words);
      if (found === "files") return console.log("files");
      const lines =
        line === undefined
          ? found.map(({ value, description }) => `${value}\t${description}`)
          : found.filter(({ value }) => value.startsWith(words.at(-1)!)).map(({ value }) => replyFor(value, line));
      console.log(["words", ...lines].join("\n"));
    });
}
