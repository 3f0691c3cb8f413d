/**
 * Collects the violations that a JSON reader finds. The reader goes on after a violation, so that a client learns of
 * several at once, and stops when there are more than a response lists.
 */
import { type FieldViolation, maxViolations, shorten } from "../../violations.ts";

/** Violations, and the path of the current field. */
export class Violations {
  readonly list: FieldViolation[] = [];
  readonly #path: string[] = [];

  /** Whether there are more than a response lists: the reader can stop. */
  get isFull(): boolean {
    return this.list.length > maxViolations;
  }

  /** Adds a violation at the current path, or at a name below it. Returns undefined, the value of an unread field. */
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

  /** Enters a field. */
  enter(name: string): void {
    this.#path.push(name);
  }

  /** Enters an item of a list. */
  enterItem(index: number): void {
    this.#path.push(`[${index}]`);
  }

  /** Enters a value of a map. */
  enterKey(key: string): void {
    this.#path.push(`[${JSON.stringify(shorten(key))}]`);
  }

  /** Leaves a field, item or value. */
  leave(): void {
    this.#path.pop();
  }
}
