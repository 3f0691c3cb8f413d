/** Connections that the port closes at once because of a limit: counted, and logged now and then. */
import type { ConnectionLimit } from "../../http/index.ts";
import type { Logger } from "../../log.ts";
import { type Counter, createCounter } from "../counter.ts";

/** A line of each limit is logged at most this often. */
const logMs = 10_000;

/** The refusals of a port. */
export interface RefusedConnections {
  readonly counts: Counter["counts"];
  report(limit: ConnectionLimit, address: string | undefined): void;
}

/** Begins to count. */
export function createRefusedConnections(log: Logger): RefusedConnections {
  const { counts, report } = createCounter(["max-connections", "max-connections-per-address", "file-descriptors"]);
  const logged = new Map<ConnectionLimit, { readonly atMs: number; readonly count: number }>();
  return {
    counts,
    report(limit, address) {
      report(limit);
      const nowMs = performance.now();
      const count = counts.get(limit)!;
      const last = logged.get(limit) ?? { atMs: Number.NEGATIVE_INFINITY, count: 0 };
      if (nowMs - last.atMs < logMs) return;
      logged.set(limit, { atMs: nowMs, count });
      log.warn({ limit, address, refused: count - last.count }, "connections refused");
    },
  };
}
