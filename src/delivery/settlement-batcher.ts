/** Settles leased entries of a queue in batches, so that a delivery is not a commit of its own. */
import type { Queue, QueueEntry, Settlement } from "../store/index.ts";

/** The new values of an entry; a value left out stays as it was leased. */
type SettledValues = Pick<Settlement, "state"> &
  Partial<Pick<Settlement, "dueUs" | "attempts" | "triedUs" | "result" | "history">>;

/** Settles the entries of a queue. */
export interface SettlementBatcher {
  /** Settles a leased entry, within {@link flushMs} or when a batch is full. */
  settle(entry: QueueEntry, values: SettledValues): void;
  /** Writes the waiting settlements. */
  flush(): Promise<void>;
}

const flushMs = 40;
/** Small, so that other writers do not wait for a batch. */
const maxBatch = 100;

/** @param report called when a batch could not be written: its leases expire, and its entries become due again. */
export function createSettlementBatcher(queue: Queue, report: (error: unknown) => void): SettlementBatcher {
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
    settle({ partition, id, dueUs, attempts, triedUs, result, history }, values) {
      waiting.push({ partition, id, leaseUs: dueUs, dueUs, attempts, triedUs, result, history, ...values });
      if (waiting.length >= maxBatch) void flush();
      else timer ??= setTimeout(() => void flush(), flushMs);
    },
    flush,
  };
}
