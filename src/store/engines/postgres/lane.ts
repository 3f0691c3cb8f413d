/** Bounds how many connections a kind of work uses at once. The rest of it waits in order, for a bounded time. */
import { OverloadError } from "../../sql/errors.ts";

/** How much may run and wait. */
export interface LaneLimits {
  readonly running: number;
  readonly waiting: number;
  readonly waitMs: number;
}

/** One kind of work. */
export class Lane {
  readonly #limits: LaneLimits;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: LaneLimits) {
    this.#limits = limits;
  }

  /** How much of it waits. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Does the work in its turn. Errors, in addition to its own: OverloadError. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limits.running) this.#running++;
    else await this.#turn();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  #turn(): Promise<void> {
    const { waiting, waitMs } = this.#limits;
    if (this.#waiting.length >= waiting) throw new OverloadError(false);
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(new OverloadError(false));
      }, waitMs);
      this.#waiting.push(begin);
    });
  }
}
