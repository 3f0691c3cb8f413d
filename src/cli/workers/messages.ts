/** The messages between the processes of a server. The supervisor starts the others, the workers. */
import type { Check } from "../../app/index.ts";
import type { Metric } from "../../metrics/index.ts";

/** A worker's place, in the variable {@link placeVariable}, as JSON. */
export interface WorkerPlace {
  /** From 0. Worker 0 does what a server does once. */
  readonly index: number;
  readonly count: number;
  /** The port of all workers. */
  readonly port: number;
  /** Whether it starts for the first time; later starts print nothing. */
  readonly isFirstStart: boolean;
}

/** The environment variable of a worker. */
export const placeVariable = "PLATFORM_WORKER";

/** From a worker. */
export type FromWorker =
  /** Every second, and after a change. See `Peers.report`. */
  | {
      readonly type: "state";
      readonly checks: readonly Check[];
      readonly debugPort: number | undefined;
      readonly isProbed: boolean;
    }
  /** There may be due deliveries. */
  | { readonly type: "wake" }
  /** Its metrics, when it was asked, and before it ends. */
  | { readonly type: "metrics"; readonly metrics: readonly Metric[] };

/** To a worker. */
export type ToWorker =
  | { readonly type: "stop"; readonly signal: string; readonly isProbed: boolean }
  /** The settings are to be read again. */
  | { readonly type: "reload" }
  /** To worker 0. */
  | { readonly type: "wake" }
  /** Asks for its metrics. */
  | { readonly type: "collect" };
