import { InvalidArgumentError } from "commander";

/** The parser of an option with a whole number. Errors: InvalidArgumentError, to which commander adds the option. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    if (count >= least && count <= most) return count;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}
