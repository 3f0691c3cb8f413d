/** Numbers that are always the same for a seed (mulberry32). */

/** A source of numbers. */
export interface Random {
  /** A whole number from 0 up, below `limit`. */
  below(limit: number): number;
}

/** The numbers of a seed. */
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
