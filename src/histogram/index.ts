/** histogram: counts values by ranges. Recording one allocates nothing and takes some ten nanoseconds. */

/** What has been recorded so far. */
export interface HistogramValue {
  /** How many values were at most each boundary, and more than the one before; at the end, those above the last. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** A histogram with fixed boundaries. */
export class Histogram {
  /** Ascending. */
  readonly boundaries: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(boundaries: readonly number[]) {
    this.boundaries = boundaries;
    this.#counts = new Float64Array(boundaries.length + 1);
  }

  record(value: number): void {
    const { boundaries } = this;
    let bucket = 0;
    while (bucket < boundaries.length && value > boundaries[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += value;
  }

  get value(): HistogramValue {
    return { counts: [...this.#counts], sum: this.#sum };
  }
}

/** Boundaries for durations of calls and statements, in seconds. */
export const durationBoundaries: readonly number[] = [0.001, 0.005, 0.025, 0.1, 0.25, 1, 2.5, 10];
