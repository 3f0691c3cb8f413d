/**
 * Stores what records of feeds say. The records are written at once; the alias groups that they touch are computed
 * again, with all that depends on them, when the transaction ends its changes with {@link FactWriter.settle}.
 */
import type { PackageFact, VulnerabilityFacts } from "../../matching/index.ts";
import { fixedUid } from "../../new-uid.ts";
import { newRow, nextRows, type Pruned, type Saved } from "../../resource/index.ts";
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { identifiersOf, type RecordChange, recordBody, recordOf, recordUid } from "./records.ts";
import { settleRecords } from "./settle.ts";
import { vulnerabilityRecords } from "./tables.ts";

/** A record to store. */
export interface RecordToSave {
  /** Tells the records of one source apart; "" for the only one. */
  readonly key: string;
  readonly facts: VulnerabilityFacts;
}

/** The rows that are read at once. */
const portion = 500;

/** What one transaction writes. */
export class FactWriter {
  readonly #session: WriteSession;
  readonly #nowMs: number;
  /** By the uid of the record. */
  readonly #changes = new Map<string, RecordChange>();
  /** The ids that records name, or named before. */
  readonly #ids = new Set<string>();

  /** @param nowMs the time of the changes, in milliseconds since 1970. */
  constructor(session: WriteSession, nowMs: number) {
    this.#session = session;
    this.#nowMs = nowMs;
  }

  /** Replaces the records of a source of a feed: of a document, or a record that stands alone. */
  async save(feed: string, source: string, records: readonly RecordToSave[]): Promise<Saved> {
    const stored = new Map((await recordsOfSource(this.#session, source)).map((row) => [row.uid, row]));
    const isNew = stored.size === 0;
    let hasChanged = false;
    for (const { key, facts } of records) {
      const uid = recordUid(feed, source, key);
      hasChanged = (await this.#write(uid, stored.get(uid), { feed, source }, facts)) || hasChanged;
      stored.delete(uid);
    }
    for (const row of stored.values()) await this.removeRow(row);
    if (isNew) return records.length === 0 ? "unchanged" : "added";
    return hasChanged || stored.size > 0 ? "changed" : "unchanged";
  }

  /** Stores a record that stands alone, replacing the one of its name. */
  saveAlone(feed: string, facts: VulnerabilityFacts, name = facts.id): Promise<Saved> {
    return this.save(feed, sourceUid(feed, name), [{ key: "", facts }]);
  }

  /** Removes the record of a row. */
  async removeRow(row: Row): Promise<void> {
    this.#note(row.uid, row, undefined);
    await this.#session.remove(vulnerabilityRecords, row.uid);
  }

  /** Removes the records of a source. Returns how many there were. */
  async remove(source: string): Promise<number> {
    const rows = await recordsOfSource(this.#session, source);
    for (const row of rows) await this.removeRow(row);
    return rows.length;
  }

  /** Computes again what depends on the changes since the last time. */
  async settle(): Promise<void> {
    if (this.#changes.size === 0) return;
    await settleRecords(this.#session, { changes: this.#changes, ids: this.#ids }, this.#nowMs);
    this.#changes.clear();
    this.#ids.clear();
  }

  /** Returns whether the record has changed. */
  async #write(uid: string, row: Row | undefined, of: { feed: string; source: string }, facts: VulnerabilityFacts) {
    const body = recordBody(facts);
    if (row !== undefined && Buffer.compare(row.body, body) === 0) return false;
    this.#note(uid, row, facts.packages);
    const identifiers = identifiersOf(facts);
    for (const id of identifiers) this.#ids.add(id);
    const updateTimeUs = this.#nowMs * 1000;
    if (row === undefined) {
      const columns = { ...of, vulnerabilities: "", identifiers };
      await this.#session.insert(vulnerabilityRecords, newRow(uid, "", this.#nowMs, { body, columns }));
    } else {
      const columns = { ...row.columns, identifiers };
      await this.#session.update(vulnerabilityRecords, { ...row, body, columns, updateTimeUs });
    }
    return true;
  }

  #note(uid: string, row: Row | undefined, packages: readonly PackageFact[] | undefined): void {
    const record = row && recordOf(row);
    if (record !== undefined) for (const id of identifiersOf(record.facts)) this.#ids.add(id);
    // A record that changes twice in a transaction is settled once, from what it was at first.
    const earlier = this.#changes.get(uid);
    this.#changes.set(uid, { before: earlier === undefined ? record : earlier.before, packages });
  }
}

/** The source of a record that stands alone. @param name tells the records of the feed apart. */
export function sourceUid(feed: string, name: string): string {
  return fixedUid("source", feed, name);
}

/** The writers of the transactions of an import, each of which ends with {@link FactWriters.settle}. */
export class FactWriters {
  readonly #writers = new WeakMap<WriteSession, FactWriter>();

  /** The writer of a transaction. @param nowMs the time of its changes. */
  of(session: WriteSession, nowMs: number): FactWriter {
    const writer = this.#writers.get(session) ?? new FactWriter(session, nowMs);
    this.#writers.set(session, writer);
    return writer;
  }

  async settle(session: WriteSession): Promise<void> {
    await this.#writers.get(session)?.settle();
  }
}

/** What tells whether a record is kept. */
interface PrunedRecord {
  readonly id: string;
  /** What it was read from, as it was saved. */
  readonly source: string;
}

/** Checks the next records of a feed after the uid `after`, and removes those that are not to be kept. */
export async function pruneRecords(
  session: WriteSession,
  { feed, nowMs, after }: { readonly feed: string; readonly nowMs: number; readonly after?: string | undefined },
  isKept: (record: PrunedRecord) => boolean,
): Promise<Pruned & { readonly ids: readonly string[] }> {
  const where = [{ column: "feed", equals: feed }];
  const { rows, next } = await nextRows(session, vulnerabilityRecords, { where, limit: portion }, after);
  const writer = new FactWriter(session, nowMs);
  const gone = rows.filter((row) => !isKept({ id: recordOf(row).facts.id, source: row.columns.source as string }));
  for (const row of gone) await writer.removeRow(row);
  await writer.settle();
  return { removed: gone.length, next, ids: gone.map((row) => recordOf(row).facts.id) };
}

async function recordsOfSource(session: ReadSession, source: string): Promise<Row[]> {
  const where = [{ column: "source", equals: source }];
  const orderBy = [{ column: "source", descending: false }];
  const found: Row[] = [];
  for await (const rows of session.pages(vulnerabilityRecords, { where, orderBy, limit: portion })) found.push(...rows);
  return found;
}
