/** Prints what is wrong with the settings. */
import { ConfigError, type SettingProblem } from "../../config/index.ts";

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
