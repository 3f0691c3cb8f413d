/**
 * remote: the commands that call a server. They are made from the descriptors of the contract, and know no resource by
 * its name, but for `whoami`.
 */
import type { Command } from "commander";
import type { Candidate, ValuePlace } from "./completion/place.ts";

export type { Candidate, ValuePlace } from "./completion/place.ts";

/** A command: its name, its summary, and how to load it. `args`: all arguments, which decide the options of some. */
export type CommandEntry = readonly [
  name: string,
  summary: string,
  load: (args: readonly string[]) => Promise<Command>,
];

/** The commands that call a server, in the order of `platform --help`. */
export const remoteCommands: readonly CommandEntry[] = [
  ["get", "print resources by uid or name", async () => (await import("./resources/get.ts")).getCommand()],
  [
    "list",
    "print the resources of a kind, filtered and in order",
    async (args) => (await import("./resources/list.ts")).listCommand(args),
  ],
  ["create", "create a resource", async () => (await import("./resources/create.ts")).createCommand()],
  ["update", "change a resource", async () => (await import("./resources/update.ts")).updateCommand()],
  ["delete", "delete resources", async () => (await import("./resources/delete.ts")).deleteCommand()],
  ["wait", "wait until a resource is as it should be", async () => (await import("./wait/command.ts")).waitCommand()],
  [
    "call",
    "call any method, of any version of the API",
    async () => (await import("./resources/method.ts")).callCommand(),
  ],
  [
    "resources",
    "list the resources and their methods",
    async () => (await import("./resources/catalog.ts")).resourcesCommand(),
  ],
  [
    "apply",
    "create and update resources as documents describe them",
    async () => (await import("./apply/command.ts")).applyCommand(),
  ],
  [
    "diff",
    "print what an apply of documents would change",
    async () => (await import("./apply/command.ts")).diffCommand(),
  ],
  [
    "contract",
    "check that a server speaks the contract",
    async () => (await import("./contract-check/command.ts")).contractCommand(),
  ],
  [
    "record",
    "record the answers of a server, as a proxy before it",
    async () => (await import("./recording/record.ts")).recordCommand(),
  ],
];

/** The commands about who calls servers. */
export const signInCommands: readonly CommandEntry[] = [
  ["login", "sign in to a server", async () => (await import("./sign-in/login.ts")).loginCommand()],
  ["logout", "end the session of a sign-in", async () => (await import("./sign-in/logout.ts")).logoutCommand()],
  [
    "whoami",
    "print who you are there, and what you may do",
    async () => (await import("./sign-in/whoami.ts")).whoamiCommand(),
  ],
];

/** `platform token --print`. */
export async function printTokenCommand(): Promise<Command> {
  return (await import("./sign-in/token.ts")).printTokenCommand();
}

/** Adds the options that choose a server: `--server`, `--profile`. */
export async function withServer(command: Command): Promise<Command> {
  return (await import("./session/session.ts")).withProfile(command);
}

/** The base URL that the options of {@link withServer} choose; undefined if nothing does. Errors: CommandFailure. */
export async function chosenServer(command: Command): Promise<string | undefined> {
  return (await import("./session/session.ts")).chosenServer(command.opts());
}

/** `platform export documents`. */
export async function exportDocumentsCommand(): Promise<Command> {
  return (await import("./resources/export.ts")).exportDocumentsCommand();
}

/** `platform replay`. */
export async function replayCommand(): Promise<Command> {
  return (await import("./recording/replay.ts")).replayCommand();
}

/** The command of a service with custom methods, such as `group-invites`; undefined if there is no such service. */
export async function findRemoteCommand(name: string): Promise<Command | undefined> {
  const { findService } = await import("./catalog/contract.ts");
  const service = findService(name);
  if (service === undefined || service.customMethods.size === 0) return undefined;
  return (await import("./resources/method.ts")).serviceCommand({ ...service, name });
}

/** Applies the documents of a file or folder to a server. Errors: CommandFailure if one is not applied. */
export async function seedServer(server: string, token: string, path: string): Promise<void> {
  await (await import("./apply/seed.ts")).seedServer(server, token, path);
}

/** The commands that {@link findRemoteCommand} finds. @param others the names of other commands. */
export async function serviceCandidates(others: ReadonlySet<string>): Promise<Candidate[]> {
  return (await import("./completion/values.ts")).serviceCandidates(others);
}

/** What a value of a command may be; none where it is not known. The resources of a server are asked for. */
export async function valueCandidates(place: ValuePlace): Promise<Candidate[]> {
  return (await import("./completion/values.ts")).valueCandidates(place);
}
