/** Bounds how many connections a kind of work uses at once. The rest of it waits its turn, for a bounded time. */
import { FairQueue, nobody, type WorkPayer } from "../../../fairness/index.ts";
import { OverloadError } from "../../sql/errors.ts";

/** How much may run and wait. */
export interface ConnectionLimits {
  readonly running: number;
  readonly waiting: number;
  readonly waitMs: number;
}

/** One kind of work. */
export class ConnectionLimiter {
  readonly #limits: ConnectionLimits;
  readonly #waiting = new FairQueue<() => void>();
  #running = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** How much of it waits. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Does the work in its turn. Errors, in addition to its own: OverloadError. */
  async run<T>(work: () => Promise<T>, payer: WorkPayer = nobody): Promise<T> {
    if (this.#running < this.#limits.running) this.#running++;
    else await this.#turn(payer);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  #turn(payer: WorkPayer): Promise<void> {
    const key = { account: payer.account, caller: payer.caller }; // the account may change meanwhile
    const { waiting, waitMs } = this.#limits;
    if (!this.#waiting.hasRoom(key, waiting)) throw new OverloadError(false);
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(key, begin);
        reject(new OverloadError(false));
      }, waitMs);
      this.#waiting.add(key, begin);
    });
  }
}
