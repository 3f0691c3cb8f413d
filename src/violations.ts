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
/** Characters of all violations together. gRPC sends them twice in trailers, of which some clients take 8 KiB. */
const maxTextLength = 2560;
const maxNameLength = 64;

/** The violations that an answer tells: at most 20, the last of which says that there are more. */
export function toldViolations(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  const fitting = countFitting(violations);
  if (violations.length <= maxViolations && fitting === violations.length) return violations;
  const told = violations.slice(0, Math.min(fitting, maxViolations - 1));
  return [...told, { field: "", description: "more violations are not listed" }];
}

/** How many of the first violations are told without being too long together; one always is. */
function countFitting(violations: readonly FieldViolation[]): number {
  let length = 0;
  const end = violations.findIndex(({ field, description }, i) => {
    length += field.length + description.length;
    return i > 0 && length > maxTextLength;
  });
  return end < 0 ? violations.length : end;
}

/** The values that a field takes, as many as an answer tells: `a, b, c and 4 more`. */
export function toldValues(names: readonly string[]): string {
  const more = names.length - maxViolations;
  return more > 0 ? `${names.slice(0, maxViolations).join(", ")} and ${more} more` : names.join(", ");
}

/** `1 item`, `2 items`, `3 entries`. */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
}

/** A name that a client chose, cut to a length fit for an answer. */
export function shorten(name: string): string {
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength)}…`.toWellFormed();
}
