/** `platform contract check`. */
import { Command, Option } from "commander";
import { CommandFailure, ProgressLine, stopSignal } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { inSession, withSession } from "../session/session.ts";
import { readBaseline } from "./baseline.ts";
import { type Protocol, protocols } from "./calls.ts";
import { formats } from "./report.ts";
import { checkContract } from "./run.ts";
import { selectionOf } from "./selection.ts";

interface Options {
  readonly group?: string;
  readonly protocols: readonly Protocol[];
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly baseline?: string;
  readonly output: keyof typeof formats;
}

export function makeCommand(): Command {
  return new Command("contract").description("check servers against the contract").addCommand(checkCommand());
}

function checkCommand(): Command {
  return withSession(new Command("check"))
    .description(
      "Check that a server speaks the contract, from outside: what it has of it, then authentication, errors, lists, " +
        "field masks, etags and authorization, the same over REST, Connect and gRPC. It works in a group of its own, " +
        "which it deletes at the end. The exit status is 1 if anything differs that the baseline does not have.",
    )
    .option("--group <UID>", "group to work in (default: the first root group)")
    .addOption(
      new Option("--protocols <LIST>", `those to check, of ${protocols.join(", ")}`)
        .argParser(protocolsOf)
        .default(protocols, "all"),
    )
    .option(
      "--only <LIST>",
      "what to check: rules (lists/skip), groups of rules (lists) and methods (ListRepos)",
      termsOf,
    )
    .option("--skip <LIST>", "rules, groups of rules and methods not to check", termsOf)
    .option("--baseline <FILE>", "differences that are known: what an earlier check printed with -o json")
    .addOption(new Option("-o, --output <FORMAT>", "what to print").choices(Object.keys(formats)).default("text"))
    .action(async ({ group, output, only = [], skip = [], ...options }: Options, command: Command) => {
      const selection = selectionOf({ only, skip });
      const baseline = options.baseline === undefined ? undefined : readBaseline(options.baseline);
      return inSession(command, async ({ server, token, timeoutMs }) => {
        const text = await token?.token({ server });
        if (text === undefined) throw new CommandFailure("a check needs a token: --token or PLATFORM_TOKEN", 4);
        const progress = new ProgressLine();
        const onProgress = (what: string) => progress.show(() => what);
        const { signal, release } = stopSignal();
        const results = await checkContract({
          ...{ server, token: text, group, timeoutMs, signal, onProgress, selection, baseline },
          protocols: options.protocols,
        }).finally(() => {
          progress.clear();
          release();
        });
        process.stdout.write(formats[output](results));
        if (results.some(({ outcome }) => outcome === "differs")) throw new CommandFailure("", 1);
      });
    });
}

/** Reads a list with commas, after those of the same option before it. */
function termsOf(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(",").map((term) => term.trim())];
}

/** Errors: CommandFailure. */
function protocolsOf(text: string): readonly Protocol[] {
  const names = termsOf(text);
  const unknown = names.find((name) => !protocols.some((protocol) => protocol === name));
  if (unknown !== undefined)
    throw new CommandFailure(`--protocols: there is no ${unknown}${suggestion(unknown, protocols)}`, 2);
  return protocols.filter((protocol) => names.includes(protocol));
}
