/**
 * Where a reader notes what is wrong, field by field. It goes on after a violation, so that a caller learns all of
 * them at once; past a hundred it stops noting.
 */

/** One thing wrong with a message, in the terms of google.rpc.BadRequest. */
export interface FieldViolation {
  /** Path in proto names: `claim_match.subject`, `tags[2].name`, `labels["k"]`; empty for the message itself. */
  readonly field: string;
  /** What is wrong, to follow the field: `must be a string`. */
  readonly description: string;
}

const MAX_VIOLATIONS = 100;
const MAX_NAME = 64;

/** Collects violations below a current path. */
export class Violations {
  readonly list: FieldViolation[] = [];
  readonly #path: string[] = [];

  /** Notes a violation at the current path, or at a name below it. Gives undefined, the value of nothing. */
  add(description: string, name?: string): undefined {
    if (this.list.length < MAX_VIOLATIONS) {
      const path = name === undefined ? this.#path : [...this.#path, name];
      const field = path.reduce(
        (text, step) => (step.startsWith("[") || text === "" ? text + step : `${text}.${step}`),
        "",
      );
      this.list.push({ field, description });
    }
    return undefined;
  }

  /** Goes down to a field, by name. */
  enter(name: string): void {
    this.#path.push(name);
  }

  /** Goes down to an item of a list, by index. */
  enterItem(index: number): void {
    this.#path.push(`[${index}]`);
  }

  /** Goes down to a value of a map, by key. */
  enterKey(key: string): void {
    this.#path.push(`[${JSON.stringify(shorten(key))}]`);
  }

  /** Goes back up. */
  leave(): void {
    this.#path.pop();
  }
}

/** A name that a client chose, cut to a length fit for an answer. */
export function shorten(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME)}…`.toWellFormed();
}
