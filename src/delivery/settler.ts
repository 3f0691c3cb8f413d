/** Gathers what has become of leased entries and writes it in batches: a delivery is no commit of its own. */
import type { Queue, QueueEntry, Settlement } from "../store/index.ts";

/** What an entry becomes; what is left out stays as it was leased. */
export type Settled = Pick<Settlement, "state"> &
  Partial<Pick<Settlement, "dueUs" | "attempts" | "triedUs" | "result">>;

/** Settles the entries of a queue. */
export interface Settler {
  /** Settles a leased entry within some milliseconds. */
  settle(entry: QueueEntry, settled: Settled): void;
  /** Writes what waits. */
  flush(): Promise<void>;
}

const flushMs = 40;
/** So few that no other change waits for them. */
const maxBatch = 100;

/** @param report told when some could not be written: their leases run out, and they are worked on again. */
export function createSettler(queue: Queue, report: (error: unknown) => void): Settler {
  let waiting: Settlement[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const settlements = waiting;
    waiting = [];
    writing = writing.then(() => write(settlements));
    return writing;
  }

  async function write(settlements: readonly Settlement[]): Promise<void> {
    for (let start = 0; start < settlements.length; start += maxBatch) {
      await queue.settle(settlements.slice(start, start + maxBatch)).catch(report);
    }
  }

  return {
    settle({ lane, id, dueUs, attempts, triedUs, result }, settled) {
      waiting.push({ lane, id, leaseUs: dueUs, dueUs, attempts, triedUs, result, ...settled });
      if (waiting.length >= maxBatch) void flush();
      else timer ??= setTimeout(() => void flush(), flushMs);
    },
    flush,
  };
}
