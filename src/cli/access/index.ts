/** `platform access`: who can do what, and why. */
import { Command } from "commander";
import { explainCommand } from "./explain.ts";
import { listCommand } from "./list.ts";

export function accessCommand(): Command {
  return new Command("access").addCommand(explainCommand().exitOverride()).addCommand(listCommand().exitOverride());
}
