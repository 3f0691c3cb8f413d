/** The processes of a server that has several (`--workers`), as one of them sees the others. */

/** Counts by the value of a label. */
export type Counts = ReadonlyMap<string, number>;

/** The other processes. */
export interface Peers {
  /** Whether this process does what a server does once: housekeeping, deliveries, metrics. */
  readonly isLeader: boolean;
  /** Whether other processes listen at the same port. */
  readonly sharesPort: boolean;
  /** Wakes the dispatcher of the leader soon, wherever it runs. */
  wakeDispatcher(): void;
  /** Registers what wakes the dispatcher of this process, the leader. */
  onWakeDispatcher(wake: () => void): void;
  /** The counts of all processes, where this one counts in `own`. Both change. */
  totalsOf(counter: string, own: Counts): Counts;
  /**
   * Reports that the event loop runs, why this process takes no calls, undefined while it does, and whether somebody
   * asks it for that.
   */
  report(unreadiness: string | undefined, isProbed: boolean): void;
  /** Whether somebody asked one of the processes for readiness before they were told to stop. */
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
    totalsOf: (_, own) => own,
    report() {},
    isProbed: false,
  };
}
