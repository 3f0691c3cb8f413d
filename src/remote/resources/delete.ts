/** `platform delete`: one command for each resource that can be deleted. */
import type { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { canAsk, confirm } from "../documents/confirm.ts";
import { uidOfResource } from "../documents/lookup.ts";
import { deleteResource } from "../documents/requests.ts";
import { failureOf } from "../session/failure.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { addForce, commandOfEach, parentOption } from "./resource-command.ts";

interface Options {
  readonly force?: boolean;
  readonly parent?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function makeCommand(): Command {
  return commandOfEach("Delete", "Delete resources.", "delete", deleteOne);
}

function deleteOne(command: Command, resource: ResourceEntry): Command {
  command
    .argument("<UID|NAME...>", "which")
    .addOption(parentOption())
    .option("--dry-run", "have the server check it, and delete nothing")
    .option("--yes", "do not ask on a terminal");
  addForce(command, resource.methods.Delete!);
  return withSession(command).action(async (names: string[], options: Options, self: Command) =>
    inSession(self, (session) => deleteAll(session, resource, names, options)),
  );
}

async function deleteAll(
  session: Session,
  resource: ResourceEntry,
  names: readonly string[],
  { force = false, parent, dryRun = false, yes = false }: Options,
): Promise<void> {
  const uids: string[] = [];
  for (const name of names) uids.push(await uidOfResource(session, resource, name, parent));
  if (!yes && !dryRun && canAsk() && !(await confirm(`Delete ${resource.singular} ${names.join(", ")}?`)))
    throw new CommandFailure("nothing is deleted");
  let status = 0;
  for (const [index, uid] of uids.entries()) {
    try {
      await deleteResource(session, resource, { uid, validateOnly: dryRun, ...(force && { force }) });
      console.log(printable(`${resource.singular}/${uid} ${dryRun ? "would be deleted" : "deleted"}`));
    } catch (error) {
      const { failure, concernsAll } = failureOf(error, session.server);
      console.error(`error: ${failure.linesAfter(printable(names[index]!)).join("\n")}`);
      status ||= failure.exitStatus;
      if (concernsAll) break;
    }
  }
  if (status !== 0) throw new CommandFailure("", status);
}
