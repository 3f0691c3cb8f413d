/**
 * Where a reader notes what is wrong, field by field. It goes on after a violation, so that a caller learns several at
 * once, and stops as soon as there are more than an answer tells.
 */
import { type FieldViolation, maxViolations, shorten } from "../violations.ts";

/** Collects violations below a current path. */
export class Violations {
  readonly list: FieldViolation[] = [];
  readonly #path: string[] = [];

  /** Whether there are more than an answer tells: to read on would be for nothing. */
  get isFull(): boolean {
    return this.list.length > maxViolations;
  }

  /** Notes a violation at the current path, or at a name below it. Gives undefined, the value of nothing. */
  add(description: string, name?: string): undefined {
    if (!this.isFull) {
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
