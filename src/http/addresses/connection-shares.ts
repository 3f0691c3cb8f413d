/** How many connections each address has, so that none can have them all. */
import { networkOf } from "./networks.ts";

/** The open connections by network: an IPv4 address, or 64 bits of an IPv6 address. */
export class ConnectionShares {
  readonly #max: number;
  readonly #open = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts a connection. Returns what is called at its end; undefined if its address has as many as it may have. */
  take(address: string): (() => void) | undefined {
    const network = networkOf(address);
    const open = this.#open.get(network) ?? 0;
    if (open >= this.#max) return undefined;
    this.#open.set(network, open + 1);
    return () => {
      const left = this.#open.get(network)! - 1;
      if (left > 0) this.#open.set(network, left);
      else this.#open.delete(network);
    };
  }
}
