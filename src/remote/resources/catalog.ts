/** `platform resources`: what the commands can be used on. */
import { Command } from "commander";
import { contractCatalog } from "../catalog/contract.ts";
import { kebab } from "../catalog/resources.ts";

export function resourcesCommand(): Command {
  return new Command("resources").action(() => {
    const { resources, services } = contractCatalog();
    const rows = resources.map(({ plural, methods }) => [plural, Object.keys(methods).map(kebab).join(", ")]);
    const width = Math.max(...rows.map(([name]) => name!.length));
    for (const [name, verbs] of [["RESOURCE", "METHODS"], ...rows]) console.log(`${name!.padEnd(width)}  ${verbs}`);
    console.log(`\n${"COMMAND".padEnd(width)}  CUSTOM METHODS`);
    for (const { name, customMethods } of services)
      if (customMethods.size > 0) console.log(`${name.padEnd(width)}  ${[...customMethods.keys()].join(", ")}`);
  });
}
