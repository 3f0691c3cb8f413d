/** The instruments of a process. */
import type { Awaitable } from "../awaitable.ts";
import type { HistogramValue } from "../histogram/index.ts";

/** Labels of a series, by OpenTelemetry's names of attributes. */
export type Labels = Readonly<Record<string, string>>;

/** The value of one combination of labels. */
export interface Series {
  readonly labels: Labels;
  readonly value: number | HistogramValue;
}

/** What an instrument says about itself. */
export interface MetricInfo {
  /** `rpc.server.call.duration`. */
  readonly name: string;
  /**
   * A counter or histogram only grows. Values of an `upDownCounter` add up among the workers of a server, those of a
   * gauge do not: each worker has its own.
   */
  readonly kind: "counter" | "upDownCounter" | "gauge" | "histogram";
  readonly description: string;
  /** By UCUM: `s`, `By`, `1` for a ratio; absent for a count. */
  readonly unit?: string;
  /** Of a histogram. */
  readonly boundaries?: readonly number[];
  /** See {@link SeriesLimit}. Absent where labels have few values by nature. */
  readonly limit?: { readonly series: number; readonly label: string; readonly others: string };
}

/** A metric at one moment: plain data, which can be sent to another thread or process. */
export interface Metric extends MetricInfo {
  readonly series: readonly Series[];
}

/** What reading an instrument gives: a value without labels, or one for each combination of labels. */
export type Observed = Series["value"] | undefined | readonly Series[];

/** A metric and how it is read. A value that is undefined is not reported. */
export interface Instrument extends MetricInfo {
  read(): Awaitable<Observed>;
}

/** The metrics of a process. */
export interface Metrics {
  /** Adds an instrument. Errors: a plain Error for a name that has been added, which is a bug. */
  add(instrument: Instrument): void;
  /** Reads all instruments. One that cannot be read within a second is left out, and reported. */
  collect(): Promise<readonly Metric[]>;
}

/** An instrument that takes longer is left out. */
const maxReadMs = 1000;
const late = Symbol("late");

/** Creates them. `report`: called when an instrument cannot be read. */
export function createMetrics(report: (error: unknown, name: string) => void): Metrics {
  const instruments = new Map<string, Instrument>();

  async function read({ read, ...info }: Instrument, deadline: Promise<typeof late>): Promise<Metric | undefined> {
    try {
      const observed = await Promise.race([read(), deadline]);
      if (observed === late) throw new Error(`it takes longer than ${maxReadMs} ms`);
      if (observed === undefined) return undefined;
      return { ...info, series: Array.isArray(observed) ? observed : [{ labels: {}, value: observed as number }] };
    } catch (error) {
      report(error, info.name);
      return undefined;
    }
  }

  return {
    add(instrument) {
      if (instruments.has(instrument.name)) throw new Error(`the metric ${instrument.name} is added twice`);
      instruments.set(instrument.name, instrument);
    },
    async collect() {
      const { promise: deadline, resolve } = Promise.withResolvers<typeof late>();
      const timer = setTimeout(resolve, maxReadMs, late);
      const metrics = await Promise.all(Array.from(instruments.values(), (instrument) => read(instrument, deadline)));
      clearTimeout(timer);
      return metrics.filter((metric) => metric !== undefined);
    },
  };
}
