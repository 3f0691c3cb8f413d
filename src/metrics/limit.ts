/** Bounds the series of metrics whose labels can have many values. */
import type { Metric } from "./registry.ts";
import { keyOf, summed } from "./series.ts";

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
    const series = metric.series.map((one) => {
      const key = keyOf(one);
      if (known.size < limit.series) known.add(key);
      return known.has(key) ? one : { ...one, labels: { ...one.labels, [limit.label]: limit.others } };
    });
    return { ...metric, series: summed(series) };
  }
}
