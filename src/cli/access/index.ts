/** `platform access`: who can do what, and why. */
import { Command } from "commander";
import { explainCommand } from "./explain.ts";
import { listCommand } from "./list.ts";

export function makeCommand(): Command {
  return new Command("access").addCommand(explainCommand()).addCommand(listCommand());
}
