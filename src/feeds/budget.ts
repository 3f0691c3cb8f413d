/**
 * How much a feed may be, whatever it says of itself: bytes when unpacked, how many times more than when packed, and entries. A bomb is one or
 * the other; what is honest is far below. Going over the budget ends the feed.
 */
import { FeedBroken } from "./feed.ts";

/** The limits of {@link Budget}. */
export interface BudgetLimits {
  readonly maxUnpackedBytes: number;
  readonly maxRatio: number;
  /** Unpacked bytes before the ratio counts: a small file may well be nothing but blanks. */
  readonly ratioFromBytes: number;
  readonly maxEntries: number;
}

const defaults: BudgetLimits = {
  maxUnpackedBytes: 64 * 1024 ** 3,
  maxRatio: 250,
  ratioFromBytes: 64 * 1024 ** 2,
  maxEntries: 5_000_000,
};

/** What one feed has used. Errors of all: FeedBroken. */
export class Budget {
  readonly #limits: BudgetLimits;
  #packed = 0;
  #unpacked = 0;
  #entries = 0;

  constructor(limits: Partial<BudgetLimits> = {}) {
    this.#limits = { ...defaults, ...limits };
  }

  packed(bytes: number): void {
    this.#packed += bytes;
  }

  unpacked(bytes: number): void {
    const { maxUnpackedBytes, maxRatio, ratioFromBytes } = this.#limits;
    this.#unpacked += bytes;
    if (this.#unpacked > maxUnpackedBytes) throw new FeedBroken(`unpacks to more than ${maxUnpackedBytes} bytes`);
    if (this.#unpacked > ratioFromBytes && this.#unpacked > maxRatio * this.#packed)
      throw new FeedBroken(`unpacks to more than ${maxRatio} times its size`);
  }

  entry(): void {
    this.#entries += 1;
    if (this.#entries > this.#limits.maxEntries)
      throw new FeedBroken(`holds more than ${this.#limits.maxEntries} files`);
  }
}
