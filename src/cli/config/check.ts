/** `platform config check`: verifies the settings without starting anything. */
import { Command } from "commander";
import { tlsProblems } from "../../app/index.ts";
import { type Config, ConfigError, readSettings, type SettingProblem } from "../../config/index.ts";
import { sourcesOf, withSettings } from "../settings.ts";

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

/**
 * Prints all problems, one line each. Errors: ConfigError, whose message is that of the errors, if there are any.
 * @param isError which problems are errors; the others are warnings.
 */
export function printProblems(
  problems: readonly SettingProblem[],
  isError: (problem: SettingProblem) => boolean = ({ kind }) => kind === "error",
): void {
  const errors = problems.filter(isError);
  for (const problem of problems) if (!isError(problem)) console.error(`warning: ${problem.message}`);
  if (errors.length > 0) throw new ConfigError(errors.map(({ message }) => message).join("\nerror: "));
}
