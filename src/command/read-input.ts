import { readFileSync } from "node:fs";
import { CommandFailure } from "./failure.ts";

/** The text of a file; `-` is standard input. Errors: CommandFailure with status 2. @param option names the file. */
export function readInput(file: string, option?: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    const text = `cannot read ${file}: ${(error as Error).message}`;
    throw new CommandFailure(option === undefined ? text : `${option}: ${text}`, 2);
  }
}
