/** The metrics of several workers, which end and start again, as those of one server. */
import type { Metric } from "./registry.ts";
import { summed } from "./series.ts";

/**
 * Adds up counters, histograms and upDownCounters. Each gauge keeps the number of its worker in the label `worker`.
 * What ended workers had counted stays.
 */
export class WorkerTotals {
  readonly #last = new Map<number, readonly Metric[]>();
  /** By metric. */
  #ended: readonly Metric[] = [];

  /** Takes what a worker has answered with. */
  update(worker: number, metrics: readonly Metric[]): void {
    this.#last.set(worker, metrics);
  }

  /** Keeps the counts of a worker whose process has ended. */
  end(worker: number): void {
    const counted = (this.#last.get(worker) ?? []).filter(({ kind }) => kind === "counter" || kind === "histogram");
    this.#last.delete(worker);
    this.#ended = added([...this.#ended, ...counted]);
  }

  /** The metrics of the server. */
  metrics(): readonly Metric[] {
    const running = Array.from(this.#last, ([worker, metrics]) =>
      metrics.map((metric) => (metric.kind === "gauge" ? labelled(metric, worker) : metric)),
    );
    return added([...this.#ended, ...running.flat()]);
  }
}

function labelled(metric: Metric, worker: number): Metric {
  const series = metric.series.map(({ labels, value }) => ({ labels: { ...labels, worker: String(worker) }, value }));
  return { ...metric, series };
}

/** One metric of each name, with the sums of the series of equal labels. */
function added(metrics: readonly Metric[]): readonly Metric[] {
  return Array.from(
    Map.groupBy(metrics, ({ name }) => name).values(),
    (same): Metric => ({ ...same[0]!, series: summed(same.flatMap(({ series }) => series)) }),
  );
}
