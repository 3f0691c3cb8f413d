/** Questions on a terminal. */
import { createInterface } from "node:readline/promises";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";

/** Whether somebody can answer. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks a question, and returns whether the answer is yes. Errors: CommandFailure at Ctrl-C, exit status 130. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise((resolve, reject) => {
      terminal.once("SIGINT", () => reject(new CommandFailure("interrupted", 130)));
      terminal.once("close", () => resolve(false)); // at the end of the input
      terminal
        .question(`${printable(question)} [y/N] `)
        .then((answer) => resolve(/^y(es)?$/i.test(answer.trim())), reject);
    });
  } finally {
    terminal.close();
  }
}
