/**
 * remote: the commands that call a server. They are made from the descriptors of the contract, and know no resource by
 * its name.
 */
import type { Command } from "commander";

/** A command: its name, its summary, and how to load it. */
export type CommandEntry = readonly [name: string, summary: string, load: () => Promise<Command>];

/** The commands that call a server, in the order of `platform --help`. */
export const remoteCommands: readonly CommandEntry[] = [
  ["create", "create a resource", async () => (await import("./resources/create.ts")).createCommand()],
  ["update", "change a resource", async () => (await import("./resources/update.ts")).updateCommand()],
  ["delete", "delete resources", async () => (await import("./resources/delete.ts")).deleteCommand()],
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
];

/** The command of a service with custom methods, such as `group-invites`; undefined if there is no such service. */
export async function findRemoteCommand(_name: string): Promise<Command | undefined> {
  return undefined;
}
