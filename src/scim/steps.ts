/** Work in steps: one in each turn of the event loop, so that other calls go on. Callers take turns. */
export class Steps {
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** Resolves when the next step of a caller may be done. */
  next(caller: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(caller);
      if (queue === undefined) this.#waiting.set(caller, [resolve]);
      else queue.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const [caller, queue] = this.#waiting.entries().next().value!;
      this.#waiting.delete(caller);
      const begin = queue.shift()!;
      if (queue.length > 0) this.#waiting.set(caller, queue);
      this.#schedule();
      begin();
    });
  }
}
