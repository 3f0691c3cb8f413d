/**
 * Writes the audit log. While the database is unavailable, records wait in memory. Those that do not fit are counted,
 * and their number is logged.
 */

import { ConflictError, type Database, type LogEntry, UnavailableError, type WriteSession } from "../store/index.ts";
import { type AuditRecord, appendAudit, auditEntry, emptyRecord } from "./records.ts";
import { StrangerCounts } from "./strangers.ts";

/** What {@link Audit} needs. */
export interface AuditOptions {
  readonly database: Database;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Called with the number of records that could not be written, or could not be kept until they could. A record of
   * several calls counts as so many.
   */
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

/** Writes the audit log of a database. */
export class Audit {
  readonly #options: AuditOptions;
  #pending: LogEntry[] = [];
  #tallies = new Map<string, Tally>();
  readonly #strangers = new StrangerCounts();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #wakeMs = Number.POSITIVE_INFINITY;
  #writing = Promise.resolve();
  /** How many records did not fit into memory since the database became unavailable, and why it did. */
  #dropped = 0;
  #outage: Error | undefined;

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /** Adds a record to the transaction of `session`. */
  append(session: WriteSession, record: AuditRecord): Promise<void> {
    return appendAudit(session, auditEntry(record, this.#options.now()));
  }

  /**
   * Writes a record outside of a transaction, within a second. One without a caller is only counted: by its code, the
   * minute and the network of its address. `by` distinguishes callers that records name alike.
   */
  report(record: AuditRecord, by = ""): void {
    const nowMs = this.#options.now();
    if (record.caller === "") {
      this.#strangers.add(record, nowMs);
      this.#schedule(this.#strangers.dueMs);
      return;
    }
    const tally = this.#tallyOf(record.caller, by);
    if (tally.reported < maxPerCaller && this.#pending.length < maxPending) {
      tally.reported++;
      this.#pending.push(auditEntry(record, nowMs));
    } else tally.countedOnly++;
    this.#schedule(nowMs + flushMs);
  }

  /** Writes what has been reported. What cannot be written now waits. */
  flush(): Promise<void> {
    return this.#writeDue(Number.POSITIVE_INFINITY);
  }

  /** Writes what has been reported, or drops it. */
  async close(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
    const lost = this.#dropped + callsIn(this.#pending);
    if (lost > 0) this.#options.onLoss(lost, this.#outage);
    this.#pending = [];
    this.#dropped = 0;
  }

  /** Callers beyond `maxCallers` share one tally. */
  #tallyOf(caller: string, by: string): Tally {
    const tallies = this.#tallies;
    const name = `${caller} ${by}`;
    const known = tallies.get(name);
    if (known !== undefined) return known;
    const [key, shown] = tallies.size < maxCallers ? [name, caller] : ["", ""];
    const tally = tallies.get(key) ?? { caller: shown, reported: 0, countedOnly: 0 };
    tallies.set(key, tally);
    return tally;
  }

  async #write(entries: readonly LogEntry[]): Promise<void> {
    const { database, onLoss } = this.#options;
    for (let start = 0; start < entries.length; start += batchSize) {
      const batch = entries.slice(start, start + batchSize);
      try {
        await database.transact(async (session) => {
          for (const entry of batch) await appendAudit(session, entry);
        });
      } catch (error) {
        const isPassing = error instanceof UnavailableError || error instanceof ConflictError;
        if (isPassing) return this.#keep(entries.slice(start), error);
        onLoss(callsIn(batch), error);
      }
    }
    if (this.#dropped > 0) onLoss(this.#dropped, this.#outage);
    this.#dropped = 0;
  }

  /** Keeps what fits, the oldest first. A record that was written in spite of the error is not written twice. */
  #keep(entries: readonly LogEntry[], error: Error): void {
    const all = [...entries, ...this.#pending];
    this.#pending = all.slice(0, maxPending);
    this.#dropped += callsIn(all.slice(maxPending));
    this.#outage = error;
    this.#schedule(this.#options.now() + flushMs);
  }

  #schedule(dueMs: number): void {
    if (dueMs >= this.#wakeMs) return;
    const { now } = this.#options;
    clearTimeout(this.#timer);
    this.#wakeMs = dueMs;
    const write = () => void this.#writeDue(Math.max(dueMs, now()));
    this.#timer = setTimeout(write, Math.max(0, dueMs - now())).unref();
  }

  /** Writes what is due at a time; Infinity is everything. */
  #writeDue(timeMs: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#writing = this.#writing.then(() => {
      const entries = this.#take(timeMs);
      this.#schedule(this.#strangers.dueMs);
      return this.#write(entries);
    });
    return this.#writing;
  }

  #take(timeMs: number): readonly LogEntry[] {
    const counts = [...this.#tallies.values()].filter(({ countedOnly }) => countedOnly > 0);
    const nowMs = this.#options.now();
    const entries = [
      ...this.#pending,
      ...counts.map(({ caller, countedOnly: count }) => auditEntry({ ...emptyRecord, caller, count }, nowMs)),
      ...this.#strangers.take(timeMs).map(({ record, timeMs }) => auditEntry(record, timeMs)),
    ];
    this.#pending = [];
    this.#tallies = new Map();
    return entries;
  }
}

/** How many calls the entries are about. */
function callsIn(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, { columns: { count } }) => sum + Number(count), 0);
}
