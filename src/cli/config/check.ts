/** `platform config check`: verifies the settings without starting anything. */
import { Command } from "commander";
import { tlsProblems } from "../../app/index.ts";
import { type Config, readSettings, type SettingProblem } from "../../config/index.ts";
import { sourcesOf, withSettings } from "../settings.ts";
import { printProblems } from "./problems.ts";

export function checkCommand(): Command {
  const command = withSettings(new Command("check")).description(
    "verify the settings of serve and the files that they name, and print all problems",
  );
  return command.action(() => {
    const { config, problems } = readSettings(sourcesOf(command));
    printProblems([...problems, ...fileProblems(config)], ({ kind }) => kind !== "deprecated");
    console.log("the settings are valid");
  });
}

/** What is wrong with files that a start reads after its settings. */
function fileProblems(config: Config): SettingProblem[] {
  return tlsProblems(config).map((message) => ({ kind: "error", message }));
}
