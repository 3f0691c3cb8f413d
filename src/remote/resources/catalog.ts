/** `platform resources`: what the commands can be used on. */
import { Command } from "commander";
import { contractCatalog } from "../catalog/contract.ts";
import { commandName, kebab, onlyMethod } from "../catalog/resources.ts";

export function makeCommand(): Command {
  const command = new Command("resources");
  return command.action(() => {
    const { resources, views, services } = contractCatalog();
    const others = new Set(command.parent?.commands.map((it) => it.name()));
    const rows = [...resources, ...views].map(({ plural, methods }) => [
      plural,
      Object.keys(methods).map(kebab).join(", "),
    ]);
    const commands = services
      .filter(({ customMethods }) => customMethods.size > 0)
      .map((entry) => {
        const methods = onlyMethod(entry) === undefined ? [...entry.customMethods.keys()] : [];
        return [commandName(entry, others), methods.join(", ")];
      });
    const width = Math.max(...[...rows, ...commands].map(([name]) => name!.length));
    const print = (lines: readonly (readonly string[])[]) => {
      for (const [name, methods] of lines) console.log(`${name!.padEnd(width)}  ${methods}`.trimEnd());
    };
    print(
      [["RESOURCE", "METHODS"], ...rows, [], ["COMMAND", "CUSTOM METHODS"], ...commands].map(([a = "", b = ""]) => [
        a,
        b,
      ]),
    );
  });
}
