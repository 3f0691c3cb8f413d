/** What the processes of a server tell each other. The supervisor starts the others, the workers. */

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
  /** Every second, and after a change: why it takes no calls, or null while it does; and whether it was probed lately. */
  | { readonly type: "state"; readonly unreadiness: string | null; readonly isProbed: boolean }
  /** There may be due deliveries. */
  | { readonly type: "wake" }
  /** What it has counted since the last message. */
  | { readonly type: "counted"; readonly counts: CountsByCounter };

/** To a worker. */
export type ToWorker =
  | { readonly type: "stop"; readonly signal: string; readonly isProbed: boolean }
  /** The settings are to be read again. */
  | { readonly type: "reload" }
  /** To worker 0. */
  | { readonly type: "wake" }
  /** To worker 0: the counts of all workers, also of those that have ended. */
  | { readonly type: "totals"; readonly counts: CountsByCounter };

/** By counter, the values of its label and their counts. */
export type CountsByCounter = Readonly<Record<string, readonly (readonly [string, number])[]>>;
