/** `platform config`: prints, checks and describes the settings. It starts nothing and opens no database. */
import { Command } from "commander";
import { checkCommand } from "./check.ts";
import { printCommand } from "./print.ts";
import { schemaCommand } from "./schema.ts";

export function makeCommand(): Command {
  return new Command("config").addCommand(printCommand()).addCommand(checkCommand()).addCommand(schemaCommand());
}
