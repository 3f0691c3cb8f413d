import { FairQueue } from "./fair-queue.ts";
import type { WorkPayer } from "./payer.ts";

/** Work that needs much memory: each account has one such work under way, for which its callers take turns. */
export class AccountTurns {
  /** Of each account that has work under way, what waits for its end. */
  readonly #accounts = new Map<string, FairQueue<() => void>>();

  /**
   * Returns, when the work may begin, what is to be called when it has ended. Errors: the reason of the signal, which
   * is aborted when nobody waits for the work any more.
   */
  begin(payer: WorkPayer, signal: AbortSignal): Promise<() => void> | (() => void) {
    signal.throwIfAborted();
    const waiting = this.#accounts.get(payer.account);
    const { account } = payer;
    const end = () => this.#end(account);
    if (waiting === undefined) {
      this.#accounts.set(account, new FairQueue());
      return end;
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener("abort", onAbort);
        resolve(end);
      };
      const onAbort = () => {
        waiting.delete(payer, begin);
        reject(signal.reason);
      };
      waiting.add(payer, begin);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #end(account: string): void {
    const next = this.#accounts.get(account)?.shift();
    if (next === undefined) this.#accounts.delete(account);
    else next();
  }
}
