/** Counts by the value of a label, for the metrics. */

/** A counter of this process. */
export interface Counter {
  readonly counts: ReadonlyMap<string, number>;
  report(value: string): void;
}

/** Creates one that has counted nothing. */
export function createCounter(): Counter {
  const counts = new Map<string, number>();
  return {
    counts,
    report(value) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    },
  };
}
