/** Violations of a request, the same in every protocol, and how much of them a response lists. */

/** One violation of one field, as in google.rpc.BadRequest. */
export interface FieldViolation {
  /** Path in proto names: `claim_match.subject`, `tags[2].name`, `labels["k"]`; empty for the message itself. */
  readonly field: string;
  /** What is wrong, to follow the field: `must be a string`. */
  readonly description: string;
}

/** The most violations that a response lists, and the most values of a field that one violation lists. */
export const maxViolations = 20;
/** Characters of all violations together. gRPC sends them twice in trailers, and some clients accept 8 KiB of those. */
const maxTextLength = 2560;
const maxNameLength = 64;

/** The violations that a response lists: at most 20, the last of which says that there are more. */
export function listedViolations(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  const fitting = countFitting(violations);
  if (violations.length <= maxViolations && fitting === violations.length) return violations;
  const listed = violations.slice(0, Math.min(fitting, maxViolations - 1));
  return [...listed, { field: "", description: "more violations are not listed" }];
}

/** How many of the first violations fit into the text limit; at least one. */
function countFitting(violations: readonly FieldViolation[]): number {
  let length = 0;
  const end = violations.findIndex(({ field, description }, i) => {
    length += field.length + description.length;
    return i > 0 && length > maxTextLength;
  });
  return end < 0 ? violations.length : end;
}

/** The values that a field takes, at most 20 by name: `a, b, c and 4 more`. */
export function listedValues(names: readonly string[]): string {
  const more = names.length - maxViolations;
  return more > 0 ? `${names.slice(0, maxViolations).join(", ")} and ${more} more` : names.join(", ");
}

/** `1 item`, `2 items`, `3 entries`. */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
}

/** A name that a client chose, cut to at most 64 characters for a response. */
export function shorten(name: string): string {
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength)}…`.toWellFormed();
}
