import { printable } from "../log-text.ts";

/** A failure of a command that is printed without a stack; nothing is printed if it has no text. */
export class CommandFailure extends Error {
  /** What is printed, with whatever a terminal could act on as escapes. */
  readonly lines: readonly string[];
  /** Of the process. */
  readonly exitStatus: number;

  /** @param text one line, or several: a line break within one is foreign text, and is escaped. */
  constructor(text: string | readonly string[], exitStatus = 1) {
    const lines = [text].flat().map(printable);
    super(lines.join("\n"));
    this.lines = lines;
    this.exitStatus = exitStatus;
  }

  /** The lines, of which the first begins with what failed. */
  linesAfter(what: string): readonly string[] {
    return [`${what}: ${this.lines[0]}`, ...this.lines.slice(1)];
  }
}
