/** `--force`, of commands whose method has it. */
import type { Command } from "commander";
import type { StandardMethod } from "../../standard-method.ts";
import { commentOf } from "../catalog/comments.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { methodOf } from "../documents/requests.ts";

/** Adds the option, with the comment of the field as its help. */
export function addForce(command: Command, resource: ResourceEntry, verb: StandardMethod["verb"]): void {
  const { force } = methodOf(resource, verb).input.field;
  if (force !== undefined) command.option("--force", commentOf(force).replaceAll("\n", " "));
}
