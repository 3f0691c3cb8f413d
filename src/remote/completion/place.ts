/** A value on a command line that is not complete, and what it may become. */
import type { Argument, Command, Option } from "commander";

/** What a word may be. */
export interface Candidate {
  readonly value: string;
  /** One line; "" for none. */
  readonly description: string;
}

/** A word on the command line that is a value. */
export interface ValuePlace {
  readonly command: Command;
  /** What it is the value of. */
  readonly parameter: Option | Argument;
  /** How help calls its values: `UID|NAME`, `FILE`. */
  readonly placeholder: string;
  /** The arguments before it, without options and names of commands. */
  readonly operands: readonly string[];
  /** The values of options before it, by `--server`. */
  readonly options: ReadonlyMap<string, string>;
  /** What is there of it. */
  readonly word: string;
}
