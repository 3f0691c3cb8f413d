/**
 * cli: the command line. Results go to standard output, everything else to standard error. The exit status is 0 for
 * success, 1 for a failure, and 2 for an invalid command line or setting; docs/cli.md lists those of commands that call
 * a server.
 *
 * A command is loaded when it is run, because loading all of them takes longer than most of them run. Those that work
 * on the database may run beside a server, but for `restore`.
 */
import { Command, CommanderError } from "commander";
import { CommandFailure } from "../command/index.ts";
import {
  type CommandEntry,
  checkCommand,
  findRemoteCommand,
  printTokenCommand,
  remoteCommands,
  replayCommand,
  signInCommands,
} from "../remote/index.ts";
import { version } from "../version.ts";

const clientCommands: readonly CommandEntry[] = [
  ...remoteCommands,
  [
    "check",
    "print what is known about packages, or those of a bill of materials",
    async () => checkCommand((await import("./sbom-packages.ts")).readSbomPackages),
  ],
];

const installationCommands: readonly CommandEntry[] = [
  ["serve", "run the server", () => import("./serve.ts")],
  ["config", "print, check and describe the settings", () => import("./config/index.ts")],
  ["init", "initialise an empty database and print the administrator's token, once", () => import("./init.ts")],
  [
    "token",
    "print a token signed by the platform, or that of the sign-in",
    (args) => (args.includes("--print") ? printTokenCommand() : import("./token.ts")),
  ],
  ["keys", "manage the keys that sign the platform's own tokens", () => import("./keys/keys.ts")],
  ["secrets", "manage the encryption of secrets in the database", () => import("./keys/secrets.ts")],
  ["access", "explain who can do what, and why", () => import("./access/index.ts")],
  ["audit", "print the audit log, or append it to a file", () => import("./audit/audit.ts")],
  [
    "events",
    "inspect and replay event deliveries, or receive events on this machine",
    () => import("./events/index.ts"),
  ],
  ["import", "import data from registries, feeds and snapshots", () => import("./import/index.ts")],
  ["export", "write everything to a file, for another database", () => import("./snapshot/export.ts")],
  ["backup", "copy a SQLite database to a file while servers use it", () => import("./backup/backup.ts")],
  ["restore", "check a backup and restore it; no server may use the database", () => import("./backup/restore.ts")],
  ["doctor", "check an installation, and say what to do", () => import("./doctor/doctor.ts")],
  ["migrate", "apply pending database migrations", () => import("./migrate.ts")],
];

const contractCommands: readonly CommandEntry[] = [
  ["routes", "print the HTTP method and path of every API method", () => import("./routes.ts")],
  ["proto", "export the protobuf files of the API", () => import("./proto.ts")],
  ["openapi", "print the OpenAPI 3.1 document of the API", () => import("./openapi.ts")],
  ["replay", "answer as a recorded server did", replayCommand],
  ["completion", "print the script that completes commands in a shell", () => import("./completion/command.ts")],
];

/** The headings of `platform --help`, each with its commands. */
const groups: readonly (readonly [heading: string, commands: readonly CommandEntry[]])[] = [
  ["Commands that call a server:", clientCommands],
  ["Sign-in:", signInCommands],
  ["Commands that run a server or use its database:", installationCommands],
  ["Commands that need neither:", contractCommands],
];

/** Runs a command. Returns the exit status. @param args arguments without the name of the program. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const program = await programFor(args);
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CommandFailure) {
      if (error.message !== "") console.error(`error: ${error.message}`);
      return error.exitStatus;
    }
    return await explainFailure(error, args);
  }
}

/** The program, with the command that the arguments call. */
async function programFor(args: readonly string[]): Promise<Command> {
  const program = new Command("platform")
    .description("Platform API v2: identity, registry and advisories on one port.")
    .version(version())
    .enablePositionalOptions()
    .showSuggestionAfterError();
  const called = args[0] === "help" ? args[1] : args[0];
  for (const [heading, commands] of groups)
    for (const entry of commands) program.addCommand((await commandOf(entry, called, args)).helpGroup(heading));
  if (called !== undefined && !program.commands.some((command) => command.name() === called)) {
    const command = await hiddenCommand(called);
    if (command !== undefined) program.addCommand(command, { hidden: true });
  }
  return throwing(program);
}

/** Has a command, and those in it, throw instead of ending the process. */
function throwing(command: Command): Command {
  command.commands.forEach(throwing);
  return command.exitOverride();
}

/** A command that `platform --help` does not list. */
async function hiddenCommand(name: string): Promise<Command | undefined> {
  if (name === "__complete") return (await import("./completion/command.ts")).completeCommand(programFor);
  return findRemoteCommand(name);
}

/** The command itself if it is called; else its name and summary, for `platform --help`. */
async function commandOf(
  [name, summary, load]: CommandEntry,
  called: string | undefined,
  args: readonly string[],
): Promise<Command> {
  if (name !== called) return new Command(name).description(summary);
  const command = await (await load(args)).makeCommand(args);
  return command.description() === "" ? command.description(summary) : command;
}

/** Prints an error that may come from the settings or the database, whose modules are loaded only then. */
async function explainFailure(error: unknown, args: readonly string[]): Promise<number> {
  const { ConfigError } = await import("../config/index.ts");
  if (error instanceof ConfigError) {
    console.error(`error: ${error.message}`);
    return 2;
  }
  const { explain, isDebugging } = await import("./failure.ts");
  console.error(`error: ${explain(error)}`);
  if (isDebugging(args)) console.error(error);
  return 1;
}
