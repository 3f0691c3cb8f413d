/**
 * remote: the commands that call a server. They are made from the descriptors of the contract, and know no resource by
 * its name, but for `whoami`, the commands about findings, and those for documents about images, which are sent in
 * pieces.
 */
import type { Command } from "commander";
import type { Candidate, ValuePlace } from "./completion/place.ts";
import type { SbomReader } from "./findings/check.ts";

export type { Candidate, ValuePlace } from "./completion/place.ts";
export type { SbomPackages, SbomReader } from "./findings/check.ts";

/** The module of a command. */
interface CommandModule {
  /** @param args all arguments, which decide the options of some commands. */
  makeCommand(args: readonly string[]): Command | Promise<Command>;
}

/** A command: its name, its summary, and how to load its module. */
export type CommandEntry = readonly [
  name: string,
  summary: string,
  load: (args: readonly string[]) => Promise<CommandModule>,
];

/** The commands that call a server, in the order of `platform --help`. */
export const remoteCommands: readonly CommandEntry[] = [
  ["get", "print resources by uid or name", () => import("./resources/get.ts")],
  ["list", "print the resources of a kind, filtered and in order", () => import("./resources/list.ts")],
  ["create", "create a resource", () => import("./resources/create.ts")],
  ["update", "change a resource", () => import("./resources/update.ts")],
  ["delete", "delete resources", () => import("./resources/delete.ts")],
  ["wait", "wait until a resource is as it should be", () => import("./wait/command.ts")],
  ["call", "call any method, of any version of the API", () => import("./resources/method.ts")],
  ["resources", "list the resources and their methods", () => import("./resources/catalog.ts")],
  ["apply", "create and update resources as documents describe them", () => import("./apply/command.ts")],
  [
    "diff",
    "print what an apply of documents would change",
    async () => ({ makeCommand: (await import("./apply/command.ts")).makeDiffCommand }),
  ],
  ["upload", "send a bill of materials, a scan or a VEX document", () => import("./images/upload.ts")],
  ["compare", "print what differs between two images", () => import("./findings/compare.ts")],
  ["contract", "check that a server speaks the contract", () => import("./contract-check/command.ts")],
  ["record", "record the answers of a server, as a proxy before it", () => import("./recording/record.ts")],
];

/** The commands about who calls servers. */
export const signInCommands: readonly CommandEntry[] = [
  ["login", "sign in to a server", () => import("./sign-in/login.ts")],
  ["logout", "end the session of a sign-in", () => import("./sign-in/logout.ts")],
  ["whoami", "print who you are there, and what you may do", () => import("./sign-in/whoami.ts")],
];

/** `platform check`. @param readSbom reads bills of materials. */
export async function checkCommand(readSbom: SbomReader): Promise<CommandModule> {
  const { makeCheckCommand } = await import("./findings/check.ts");
  return { makeCommand: () => makeCheckCommand(readSbom) };
}

/** `platform token --print`. */
export function printTokenCommand(): Promise<CommandModule> {
  return import("./sign-in/token.ts");
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
  return (await import("./resources/export.ts")).makeCommand();
}

/** `platform export sbom`. */
export async function exportSbomCommand(): Promise<Command> {
  return (await import("./images/export-sbom.ts")).makeCommand();
}

/** `platform replay`. */
export function replayCommand(): Promise<CommandModule> {
  return import("./recording/replay.ts");
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
