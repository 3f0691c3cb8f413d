/** The processes of a server that has several (`--workers`), as one of them sees the others. */
import type { Metric } from "../metrics/index.ts";
import type { Check } from "./admin/readiness.ts";

/** The other processes. */
export interface Peers {
  /** Whether this process does what a server does once: housekeeping, deliveries. */
  readonly isLeader: boolean;
  /** Whether other processes listen at the same port. */
  readonly sharesPort: boolean;
  /** Wakes the dispatcher of the leader soon, wherever it runs. */
  wakeDispatcher(): void;
  /** Registers what wakes the dispatcher of this process, the leader. */
  onWakeDispatcher(wake: () => void): void;
  /** Registers how the metrics of this process are read. */
  onCollect(collect: () => Promise<readonly Metric[]>): void;
  /**
   * Reports that the event loop moves, and whether this process takes calls. `debugPort`: where a thread of it gives
   * heap snapshots and CPU profiles. `isProbed`: whether somebody asks this process for readiness.
   */
  report(checks: readonly Check[], debugPort: number | undefined, isProbed: boolean): void;
  /** Whether somebody asked one of the processes for readiness before they had to stop. */
  readonly isProbed: boolean;
}

/** No others. */
export function noPeers(): Peers {
  let wakeDispatcher = () => {};
  return {
    isLeader: true,
    sharesPort: false,
    wakeDispatcher: () => wakeDispatcher(),
    onWakeDispatcher(wake) {
      wakeDispatcher = wake;
    },
    onCollect() {},
    report() {},
    isProbed: false,
  };
}
