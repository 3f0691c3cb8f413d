/** Which calls are recorded, and how their spans are made. */
import { TokenBuckets } from "../token-buckets.ts";
import type { TraceContext } from "../trace-context.ts";
import type { Exporter, ExporterOptions } from "./exporter.ts";

/** Records spans. */
export interface Tracing extends Exporter {
  /**
   * Whether to record a call, asked once for each. `parent`: what its request carries. `caller`: whoever was
   * authenticated.
   */
  chooses(parent: TraceContext | undefined, caller: string | undefined): boolean;
}

/** What {@link openTracing} needs. */
export interface TracingOptions extends ExporterOptions {
  /** The share of calls to record, 0 to 1, where no parent decides. */
  readonly ratio: number;
}

/** How many calls are recorded because their callers want it, beyond which the ratio decides. */
const wanted = {
  ofCaller: { perSecond: 100, burst: 200 },
  inAll: { perSecond: 500, burst: 1000 },
};

/**
 * Begins to record. A sampled parent is followed for authenticated callers, up to some a second: recording is work that
 * a stranger must not be able to ask for. So is a parent that is not sampled.
 */
export async function openTracing({ ratio, ...options }: TracingOptions): Promise<Tracing> {
  const { openExporter } = await import("./exporter.ts");
  const exporter = openExporter(options);
  const ofCaller = new TokenBuckets(() => wanted.ofCaller);
  const inAll = new TokenBuckets(() => wanted.inAll);
  return {
    ...exporter,
    chooses(parent, caller) {
      if (parent !== undefined && caller !== undefined) {
        if (!parent.isSampled) return false;
        const nowMs = performance.now();
        if (ofCaller.take(caller, nowMs) === 0 && inAll.take("", nowMs) === 0) return true;
      }
      return Math.random() < ratio;
    },
  };
}
