/** What commands have in common that are about a resource. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Command, Option } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { commentOf } from "../catalog/comments.ts";
import { contractCatalog, findListed, findResource } from "../catalog/contract.ts";
import { kebab, type ListedKind, type ResourceEntry } from "../catalog/resources.ts";

/** `--parent`, of commands that take the names of existing resources. */
export function parentOption(): Option {
  return new Option("--parent <UID|NAME>", "where what is named is: names are looked up in it alone");
}

/** The resource with a name in singular or plural. Errors: CommandFailure. */
export function requireResource(name: string): ResourceEntry {
  return findResource(name) ?? noneNamed(name, contractCatalog().resources);
}

/** What can be listed by a name in singular or plural: also what is no resource. Errors: CommandFailure. */
export function requireListed(name: string): ListedKind {
  const { resources, views } = contractCatalog();
  return findListed(name) ?? noneNamed(name, [...resources, ...views]);
}

function noneNamed(name: string, kinds: readonly ListedKind[]): never {
  const known = kinds.flatMap(({ singular, plural }) => [singular, plural]);
  throw new CommandFailure(
    `there is no resource ${JSON.stringify(name)}${suggestion(kebab(name), known)} (\`platform resources\` lists them)`,
    2,
  );
}

/** A command with one for each resource that has a method: `create role`. @param act what a command of one does. */
export function commandOfEach(
  verb: "Create" | "Update" | "Delete",
  description: string,
  act: string,
  complete: (command: Command, resource: ResourceEntry) => Command,
): Command {
  const command = new Command(kebab(verb)).description(description);
  for (const resource of contractCatalog().resources) {
    const { singular, plural, kind, methods } = resource;
    if (methods[verb] === undefined) continue;
    const one = new Command(singular).description(`${act} ${/^[aeiou]/.test(singular) ? "an" : "a"} ${singular}`);
    for (const alias of new Set([plural, kind])) if (alias !== singular) one.alias(alias);
    command.addCommand(complete(one, resource));
  }
  return command;
}

/** Adds `--force` if a method has it, with the comment of the field as its help. */
export function addForce(command: Command, { input }: DescMethod): void {
  if (input.field.force !== undefined) command.option("--force", commentOf(input.field.force).replaceAll("\n", " "));
}
