/**
 * Rate limits by token bucket: a bucket holds `burst` tokens and gains `perSecond` a second. Buckets are kept for the
 * keys that were used last; one that is forgotten is full again.
 *
 * Not a library: those of npm answer by promise and count in windows, and a read takes 40 µs in all.
 */
import { LruMap } from "./lru-map.ts";

/** How often something may happen. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

const maxBuckets = 20_000;
/**
 * What tokens may lack of a whole one: sums of fractions are rounded, and a client that waits as long as it should is
 * served.
 */
const rounding = 1e-9;

/** The buckets of one limit. */
export class TokenBuckets {
  readonly #rate: () => Rate | undefined;
  readonly #buckets = new LruMap<string, Bucket>(maxBuckets);

  /** @param rate the rate now; undefined: there is no limit. */
  constructor(rate: () => Rate | undefined) {
    this.#rate = rate;
  }

  /** Takes a token of the bucket of `key`. Returns 0, or in how many milliseconds there will be one. */
  take(key: string, nowMs: number): number {
    const rate = this.#rate();
    if (rate === undefined) return 0;
    const { perSecond, burst } = rate;
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      this.#buckets.set(key, { tokens: burst - 1, atMs: nowMs });
      return 0;
    }
    const tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) * perSecond) / 1000);
    bucket.atMs = nowMs;
    if (tokens < 1 - rounding) {
      bucket.tokens = tokens;
      return Math.ceil(((1 - tokens) * 1000) / perSecond);
    }
    bucket.tokens = Math.max(0, tokens - 1);
    return 0;
  }
}
