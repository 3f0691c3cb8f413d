/** What a contributor has forgotten. The start of the server fails with it, or a test. */
export class IncompleteError extends Error {
  override readonly name = "IncompleteError";

  /** @param faults what is missing and where, each on a line of its own. */
  constructor(what: string, faults: readonly string[]) {
    super(`${what} is incomplete:\n  ${faults.join("\n  ")}`);
  }
}
