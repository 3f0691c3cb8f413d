/** `--fail-on`: the exit status by the level of findings. */
import { Option } from "commander";
import type { Finding, Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { CommandFailure } from "../../command/index.ts";

/** The levels by name, in the order of their numbers; "any" is also what has no rating. */
const levels = { any: 0, low: 2, medium: 3, high: 4, critical: 5 } as const satisfies Record<string, Finding_Level>;

/** A value of `--fail-on`. */
export type FailOn = keyof typeof levels;

/** The exit status of a command that found something at or above the level. */
const status = 5;

/** The option. @param what counts, as in help. */
export function failOnOption(what: string): Option {
  return new Option("--fail-on <LEVEL>", `exit with status ${status} if ${what} is at or above the level`).choices(
    Object.keys(levels),
  );
}

/** Errors: CommandFailure, if a finding is at or above the level. */
export function failOn(findings: readonly Finding[], level: FailOn | undefined): void {
  if (level === undefined) return;
  const count = findings.filter((finding) => finding.level >= levels[level]).length;
  if (count === 0) return;
  const what = count === 1 ? "1 finding is" : `${count} findings are`;
  throw new CommandFailure(`${what} at or above the level ${level}`, status);
}
