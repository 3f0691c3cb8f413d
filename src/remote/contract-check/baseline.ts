/** Differences that are known: the JSON of an earlier check. */
import { CommandFailure, readInput } from "../../command/index.ts";
import { keyOf, type Result } from "./results.ts";

/** Their keys. Errors: CommandFailure for a file that cannot be read or is none. */
export function readBaseline(path: string): ReadonlySet<string> {
  const refuse = (reason: string) => new CommandFailure(`--baseline: ${path}: ${reason}`, 2);
  const text = readInput(path, "--baseline");
  let results: unknown;
  try {
    results = JSON.parse(text);
  } catch (error) {
    throw refuse((error as Error).message);
  }
  if (!Array.isArray(results) || !results.every(isResult)) throw refuse("is not what `contract check -o json` prints");
  return new Set(results.filter(({ outcome }) => outcome === "differs" || outcome === "known").map(keyOf));
}

function isResult(value: unknown): value is Result {
  const { rule, operation, outcome } = Object(value);
  return [rule, operation, outcome].every((member) => typeof member === "string");
}
