/** Bounds the series of metrics whose labels can have many values. */
import type { Metric, Series } from "./registry.ts";

/**
 * The first series of a metric with a limit, in the order in which they were seen, keep their labels for good. All
 * others are added up in series whose one label is replaced, so that counters never go down.
 */
export class SeriesLimit {
  readonly #known = new Map<string, Set<string>>();

  apply(metrics: readonly Metric[]): readonly Metric[] {
    return metrics.map((metric) => this.#limited(metric));
  }

  #limited(metric: Metric): Metric {
    const { name, limit } = metric;
    if (limit === undefined) return metric;
    const known = this.#known.get(name) ?? new Set();
    this.#known.set(name, known);
    const limited = new Map<string, Series>();
    for (const series of metric.series) {
      const key = keyOf(series);
      if (known.size < limit.series) known.add(key);
      const kept = known.has(key) ? series : { ...series, labels: { ...series.labels, [limit.label]: limit.others } };
      const before = limited.get(keyOf(kept));
      const value = (before === undefined ? 0 : (before.value as number)) + (kept.value as number);
      limited.set(keyOf(kept), { ...kept, value });
    }
    return { ...metric, series: [...limited.values()] };
  }
}

/** Identifies the series of a metric. */
export function keyOf({ labels }: Series): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
