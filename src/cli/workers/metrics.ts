/** The metrics of all workers, as the supervisor collects them. */
import { setTimeout as delay } from "node:timers/promises";
import { listenerMetrics, type ProcessState } from "../../app/index.ts";
import { formatMetrics, type Metric, SeriesLimit, WorkerTotals } from "../../metrics/index.ts";

/** How long workers may take to answer a scrape. */
const answerMs = 2000;
/** Workers are also asked this often: a worker that is killed loses what it has counted since. */
const everyMs = 5000;

/** What the supervisor has of the workers. */
export interface WorkersMetricsOptions {
  /** Asks all workers that run for their metrics. */
  ask(): void;
  /** By the number of the worker. */
  states(): readonly ProcessState[];
}

/** Collects them. */
export class WorkersMetrics {
  readonly #options: WorkersMetricsOptions;
  readonly #totals = new WorkerTotals();
  readonly #limit = new SeriesLimit();
  readonly #answeredMs = new Map<number, number>();
  readonly #timer: NodeJS.Timeout;
  #starts = 0;
  #answered = Promise.withResolvers<void>();

  constructor(options: WorkersMetricsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => options.ask(), everyMs).unref();
  }

  /** Notes that a worker starts. */
  started(): void {
    this.#starts++;
  }

  /** Takes the metrics of a worker. */
  answered(worker: number, metrics: readonly Metric[]): void {
    this.#totals.update(worker, metrics);
    this.#answeredMs.set(worker, performance.now());
    this.#answered.resolve();
    this.#answered = Promise.withResolvers();
  }

  /** Notes that a worker has ended, after its last answer. */
  ended(worker: number): void {
    this.#totals.end(worker);
    this.#answeredMs.delete(worker);
  }

  /** The metrics in the Prometheus format, those of a worker that does not answer as it has answered last. */
  async text(): Promise<string> {
    const askedMs = performance.now();
    const isLate = new AbortController();
    const late = delay(answerMs, "late" as const, { signal: isLate.signal }).catch(() => {});
    this.#options.ask();
    while ([...this.#answeredMs.values()].some((ms) => ms < askedMs))
      if ((await Promise.race([this.#answered.promise, late])) === "late") break;
    isLate.abort();
    const processes = this.#options.states().map(({ checks, silentMs }, worker) => {
      const answeredMs = this.#answeredMs.get(worker) ?? Number.NEGATIVE_INFINITY;
      const ageMs = answeredMs >= askedMs ? 0 : performance.now() - answeredMs;
      return { labels: { worker: String(worker) }, checks, silentMs, ageMs };
    });
    const own: readonly Metric[] = [
      ...listenerMetrics(processes),
      {
        name: "platform.worker.starts",
        kind: "counter",
        description: "Starts of worker processes.",
        series: [{ labels: {}, value: this.#starts }],
      },
    ];
    return formatMetrics(this.#limit.apply([...this.#totals.metrics(), ...own]));
  }

  /** Ends the collection. */
  close(): void {
    clearInterval(this.#timer);
  }
}
