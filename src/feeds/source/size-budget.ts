/**
 * Limits of a feed against decompression bombs: unpacked bytes, compression ratio, and entries. Honest feeds stay far
 * below. A feed over its budget is aborted.
 */
import { FeedBroken } from "./feed.ts";

/** Limits of a {@link SizeBudget}. */
export interface BudgetLimits {
  readonly maxUnpackedBytes: number;
  readonly maxRatio: number;
  /** Unpacked bytes from which the ratio is checked. A small file may be nothing but blanks. */
  readonly ratioFromBytes: number;
  readonly maxEntries: number;
}

const defaults: BudgetLimits = {
  maxUnpackedBytes: 64 * 1024 ** 3,
  maxRatio: 250,
  ratioFromBytes: 64 * 1024 ** 2,
  maxEntries: 5_000_000,
};

/** The amounts used by one feed. Errors of all methods: FeedBroken. */
export class SizeBudget {
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
      throw new FeedBroken(`contains more than ${this.#limits.maxEntries} files`);
  }
}
