import { FairQueue, waitIn } from "./fair-queue.ts";
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
    const { account } = payer; // it may change with what the caller does next
    const end = () => this.#end(account);
    const waiting = this.#accounts.get(account);
    if (waiting !== undefined) return waitIn(waiting, payer, signal).then(() => end);
    this.#accounts.set(account, new FairQueue());
    return end;
  }

  #end(account: string): void {
    const next = this.#accounts.get(account)?.shift();
    if (next === undefined) this.#accounts.delete(account);
    else next();
  }
}
