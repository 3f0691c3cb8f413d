/** Reproducible pseudo-random numbers (mulberry32). */

/** A source of numbers. */
export interface Random {
  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number;
}

/** Creates a source with a seed. */
export function randomNumbers(seed: number): Random {
  let state = seed;
  return {
    below(limit) {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
    },
  };
}
