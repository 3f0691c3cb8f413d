/** Questions on a terminal. */
import { createInterface } from "node:readline/promises";
import { CommandFailure } from "../../command-failure.ts";

/** Asks a question, and returns whether the answer is yes. Errors: CommandFailure without a terminal. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CommandFailure(`${question} Pass --yes: there is no terminal to ask on`, 2);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
