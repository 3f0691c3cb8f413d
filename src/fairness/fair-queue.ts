/**
 * A queue that is shared fairly: those whom items count against take turns, and among their callers each. Items of one
 * caller keep their order.
 */

import type { WorkPayer } from "./payer.ts";

/** The queue. */
export class FairQueue<T> {
  /** By account and caller, each in the order of their turns. */
  readonly #accounts = new Map<string, { readonly callers: Map<string, T[]>; size: number }>();
  size = 0;

  add({ account, caller }: WorkPayer, item: T): void {
    let ofAccount = this.#accounts.get(account);
    if (ofAccount === undefined) {
      ofAccount = { callers: new Map(), size: 0 };
      this.#accounts.set(account, ofAccount);
    }
    const items = ofAccount.callers.get(caller);
    if (items === undefined) ofAccount.callers.set(caller, [item]);
    else items.push(item);
    ofAccount.size++;
    this.size++;
  }

  /** Removes and returns the next item; undefined if there is none. */
  shift(): T | undefined {
    for (const [account, ofAccount] of this.#accounts) {
      this.#accounts.delete(account);
      for (const [caller, items] of ofAccount.callers) {
        const item = items.shift()!;
        ofAccount.callers.delete(caller);
        if (items.length > 0) ofAccount.callers.set(caller, items); // its next turn comes after those of all others
        if (--ofAccount.size > 0) this.#accounts.set(account, ofAccount);
        this.size--;
        return item;
      }
    }
    return undefined;
  }

  /** Removes an item that was added with these values, if it is there. */
  delete({ account, caller }: WorkPayer, item: T): void {
    const ofAccount = this.#accounts.get(account);
    const items = ofAccount?.callers.get(caller) ?? [];
    const at = items.indexOf(item);
    if (at < 0) return;
    items.splice(at, 1);
    if (items.length === 0) ofAccount!.callers.delete(caller);
    if (--ofAccount!.size === 0) this.#accounts.delete(account);
    this.size--;
  }

  /** How many items of a caller wait. */
  countOf({ account, caller }: WorkPayer): number {
    return this.#accounts.get(account)?.callers.get(caller)?.length ?? 0;
  }

  /** Whether one of an account may be added where `maxSize` may wait. */
  hasRoom({ account }: WorkPayer, maxSize: number): boolean {
    const own = this.#accounts.get(account)?.size ?? 0;
    return hasShare(own, this.size, this.#accounts.size, maxSize);
  }
}

/**
 * Waits in a queue until the item that this adds is called, by whoever takes it. Errors: the reason of the signal,
 * which takes the item out.
 */
export function waitIn(queue: FairQueue<() => void>, payer: WorkPayer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    const onAbort = () => {
      queue.delete(payer, begin);
      reject(signal.reason);
    };
    queue.add(payer, begin);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * Whether one more of an account may be there, where `max` may be. At the limit, and until twice as many are there,
 * accounts that have less than an equal share may have more: those who have most are refused first.
 */
export function hasShare(ofAccount: number, ofAll: number, accounts: number, max: number): boolean {
  if (ofAll < max) return true;
  return ofAll < 2 * max && ofAccount + 1 <= max / (ofAccount === 0 ? accounts + 1 : accounts);
}
