/** The first items of many in an order, without sorting all of them. */
export class Leading<T> {
  readonly #count: number;
  readonly #compare: (a: T, b: T) => number;
  #kept: T[] = [];
  #last: T | undefined;

  /** @param count how many of them are wanted. */
  constructor(count: number, compare: (a: T, b: T) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  add(item: T): void {
    if (this.#last !== undefined && this.#compare(item, this.#last) >= 0) return;
    if (this.#kept.push(item) >= 2 * this.#count) this.#cut();
  }

  /** The last of the first ones so far, once there are enough: what is after it is not wanted. */
  get last(): T | undefined {
    return this.#last;
  }

  /** In order. */
  items(): readonly T[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    this.#kept.sort(this.#compare);
    this.#kept.length = Math.min(this.#kept.length, this.#count);
    if (this.#kept.length === this.#count) this.#last = this.#kept.at(-1);
  }
}
