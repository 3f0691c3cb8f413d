/** Resources and methods as people name them. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Option } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { contractCatalog, findResource } from "../catalog/contract.ts";
import { kebab, type ResourceEntry } from "../catalog/resources.ts";

/** `--parent`, of commands that take the names of existing resources. */
export function parentOption(): Option {
  return new Option("--parent <UID|NAME>", "where what is named is: names are looked up in it alone");
}

/** The resource with a name in singular or plural. Errors: CommandFailure. */
export function requireResource(name: string): ResourceEntry {
  const found = findResource(name);
  if (found !== undefined) return found;
  const known = contractCatalog().resources.flatMap(({ singular, plural }) => [singular, plural]);
  throw new CommandFailure(
    `there is no resource ${JSON.stringify(name)}${suggestion(kebab(name), known)} (\`platform resources\` lists them)`,
    2,
  );
}

/** A method of a resource. Errors: CommandFailure if the contract has none. */
export function requireMethod({ plural, methods }: ResourceEntry, verb: keyof ResourceEntry["methods"]): DescMethod {
  const method = methods[verb];
  if (method !== undefined) return method;
  const verbs = Object.keys(methods).map((it) => kebab(it));
  throw new CommandFailure(`${plural} have no ${kebab(verb)}, only ${verbs.join(", ")}`, 2);
}
