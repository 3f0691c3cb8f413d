/** Counts by the value of a label, for the metrics. */

/** A counter of this process. */
export interface Counter {
  readonly counts: ReadonlyMap<string, number>;
  report(value: string): void;
}

/** Creates one that has counted nothing. `values`: those that are known, which are shown from the beginning. */
export function createCounter(values: readonly string[]): Counter {
  const counts = new Map(values.map((value) => [value, 0]));
  return {
    counts,
    report(value) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    },
  };
}
