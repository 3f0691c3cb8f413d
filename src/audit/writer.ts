/**
 * Writes the audit log. While the database is unavailable, records wait in memory. Those that do not fit are counted,
 * and their number is logged.
 */

import { ConflictError, type Database, type LogEntry, UnavailableError, type WriteSession } from "../store/index.ts";
import { type AuditRecord, appendAudit, auditEntry, emptyRecord } from "./records.ts";
import { StrangerCounts } from "./strangers.ts";

/** Writes the log. */
export interface Audit {
  /** Adds a record to the transaction of `session`. */
  append(session: WriteSession, record: AuditRecord): Promise<void>;
  /**
   * Writes a record outside of a transaction, within a second. One without a caller is only counted: by its code, the
   * minute and the network of its address. `by` distinguishes callers that records name alike.
   */
  report(record: AuditRecord, by?: string): void;
  /** Writes what has been reported. What cannot be written now waits. */
  flush(): Promise<void>;
  /** Writes what has been reported, or drops it. */
  close(): Promise<void>;
}

/** What {@link createAudit} needs. */
export interface AuditOptions {
  readonly database: Database;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with the number of records that could not be written, or could not be kept until they could. */
  onLoss(count: number, error: unknown): void;
}

const flushMs = 1000;
const maxPerCaller = 100;
const maxCallers = 10_000;
const maxPending = 10_000;
const batchSize = 500;

/** Calls of one caller since the last flush. `countedOnly`: those without a line of their own. */
interface Tally {
  readonly caller: string;
  reported: number;
  countedOnly: number;
}

/** Creates the writer of a database's audit log. */
export function createAudit({ database, now, onLoss }: AuditOptions): Audit {
  let pending: LogEntry[] = [];
  let tallies = new Map<string, Tally>();
  const strangers = new StrangerCounts();
  let timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  let wakeMs = Number.POSITIVE_INFINITY;
  let writing = Promise.resolve();
  /** How many records did not fit into memory since the database became unavailable, and why it did. */
  let dropped = 0;
  let outage: Error | undefined;

  /** Callers beyond `maxCallers` share one tally. */
  function tallyOf(caller: string, by: string): Tally {
    const name = `${caller} ${by}`;
    const known = tallies.get(name);
    if (known !== undefined) return known;
    const [key, shown] = tallies.size < maxCallers ? [name, caller] : ["", ""];
    const tally = tallies.get(key) ?? { caller: shown, reported: 0, countedOnly: 0 };
    tallies.set(key, tally);
    return tally;
  }

  async function write(entries: readonly LogEntry[]): Promise<void> {
    for (let start = 0; start < entries.length; start += batchSize) {
      const batch = entries.slice(start, start + batchSize);
      try {
        await database.transact(async (session) => {
          for (const entry of batch) await appendAudit(session, entry);
        });
      } catch (error) {
        const isPassing = error instanceof UnavailableError || error instanceof ConflictError;
        if (isPassing) return keep(entries.slice(start), error);
        onLoss(batch.length, error);
      }
    }
    if (dropped > 0) onLoss(dropped, outage);
    dropped = 0;
  }

  /** Keeps what fits, the oldest first. A record that was written in spite of the error is not written twice. */
  function keep(entries: readonly LogEntry[], error: Error): void {
    const all = [...entries, ...pending];
    pending = all.slice(0, maxPending);
    dropped += all.slice(maxPending).reduce((sum, { columns: { count } }) => sum + Number(count), 0);
    outage = error;
    schedule(now() + flushMs);
  }

  function schedule(dueMs: number): void {
    if (dueMs >= wakeMs) return;
    clearTimeout(timer);
    wakeMs = dueMs;
    timer = setTimeout(() => void writeDue(Math.max(dueMs, now())), Math.max(0, dueMs - now())).unref();
  }

  /** Writes what is due at a time; Infinity is everything. */
  function writeDue(timeMs: number): Promise<void> {
    clearTimeout(timer);
    wakeMs = Number.POSITIVE_INFINITY;
    writing = writing.then(() => {
      const entries = take(timeMs);
      schedule(strangers.dueMs);
      return write(entries);
    });
    return writing;
  }

  function take(timeMs: number): readonly LogEntry[] {
    const counts = [...tallies.values()].filter(({ countedOnly }) => countedOnly > 0);
    const entries = [
      ...pending,
      ...counts.map(({ caller, countedOnly: count }) => auditEntry({ ...emptyRecord, caller, count }, now())),
      ...strangers.take(timeMs).map(({ record, timeMs }) => auditEntry(record, timeMs)),
    ];
    pending = [];
    tallies = new Map();
    return entries;
  }

  return {
    append: (session, record) => appendAudit(session, auditEntry(record, now())),
    report(record, by = "") {
      if (record.caller === "") {
        strangers.add(record, now());
        return schedule(strangers.dueMs);
      }
      const tally = tallyOf(record.caller, by);
      if (tally.reported < maxPerCaller && pending.length < maxPending) {
        tally.reported++;
        pending.push(auditEntry(record, now()));
      } else tally.countedOnly++;
      schedule(now() + flushMs);
    },
    flush: () => writeDue(Number.POSITIVE_INFINITY),
    async close() {
      await writeDue(Number.POSITIVE_INFINITY);
      clearTimeout(timer);
      const lost = dropped + pending.length;
      if (lost > 0) onLoss(lost, outage);
      pending = [];
      dropped = 0;
    },
  };
}
