/** Violations of a request as every protocol tells them, and how much an answer tells: what a caller sent is never repeated at length. */

/** One thing wrong with one field, in the terms of google.rpc.BadRequest. */
export interface FieldViolation {
  /** Path in proto names: `claim_match.subject`, `tags[2].name`, `labels["k"]`; empty for the message itself. */
  readonly field: string;
  /** What is wrong, to follow the field: `must be a string`. */
  readonly description: string;
}

/** An answer tells of so many violations, and of so many values that a field takes. */
export const maxViolations = 20;
const maxNameLength = 64;

/** The violations that an answer tells: at most 20, the last of which says that there are more. */
export function toldViolations(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  if (violations.length <= maxViolations) return violations;
  return [...violations.slice(0, maxViolations - 1), { field: "", description: "more violations are not listed" }];
}

/** The values that a field takes, as many as an answer tells: `a, b, c and 4 more`. */
export function toldValues(names: readonly string[]): string {
  const more = names.length - maxViolations;
  return more > 0 ? `${names.slice(0, maxViolations).join(", ")} and ${more} more` : names.join(", ");
}

/** A name that a client chose, cut to a length fit for an answer. */
export function shorten(name: string): string {
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength)}…`.toWellFormed();
}
