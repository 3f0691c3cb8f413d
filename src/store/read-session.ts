/** Reads: single rows, pages, totals, settings, logs, queues. */

import { type Awaitable, chain } from "../awaitable.ts";
import type { AccountTurns } from "../fairness/index.ts";
import { count, exists } from "./lists/count.ts";
import { list } from "./lists/plan.ts";
import type { ListQuery, Selection } from "./lists/query.ts";
import type { Table } from "./lists/table.ts";
import type { CounterClass, CounterStatements, Counters } from "./logs/counters.ts";
import { entryOf, type LogEntry, type LogScan, type LogSpec, type LogStatements, scanValues } from "./logs/log.ts";
import { type QueueEntry, type QueueKey, entryOf as queueEntryOf } from "./logs/queue-entry.ts";
import { type PartitionScan, partitionValues, type QueueStatements } from "./logs/queue-session.ts";
import type { SharedTotals } from "./logs/shared-totals.ts";
import type { LongQueries, ReadingCall } from "./long-queries.ts";
import type { Row } from "./rows/record.ts";
import { columnValue, type TableSpec } from "./rows/row.ts";
import type { SettingStatements } from "./settings.ts";
import { type ScalarValue, storedColumn } from "./sql/indexed-column.ts";
import type { SqlConnection } from "./sql/statement.ts";

/** The compiled statements of a database. */
export interface Catalogue {
  table(spec: TableSpec): Table;
  log(spec: LogSpec): LogStatements;
  queue(name: string): QueueStatements;
  readonly counters: CounterStatements;
  /** Whether transactions run concurrently, and lock rows. */
  readonly locksRows: boolean;
  readonly settings: SettingStatements;
}

/** What a {@link Reader} may have besides its connection. */
export interface ReaderOptions {
  /** In a transaction: its counts that are not written yet. */
  readonly counters?: Counters | undefined;
  /** Outside a transaction: a number that changes when the counters must be read again. */
  readonly commits?: (() => number) | undefined;
  /** Outside a transaction. */
  readonly totals?: SharedTotals | undefined;
  /** The call that reads; absent: it never pauses. */
  readonly call?: ReadingCall | undefined;
  /** Runs queries of the call that may take long. By default they run on the connection. */
  readonly longQueries?: LongQueries | undefined;
}

/**
 * Reads. Outside a transaction, a call sees everything that this process had committed when the call began. Of other
 * processes it sees what was committed at the first read in this turn of the event loop, or at the latest `refresh` in
 * it.
 */
export type ReadSession = Omit<Reader, "total">;

/** Reads on one connection, or on any connection of a pool. */
export class Reader {
  protected readonly catalogue: Catalogue;
  readonly #connection: SqlConnection;
  readonly #counters: Counters | undefined;
  readonly #call: ReadingCall | undefined;
  readonly #longQueries: LongQueries | undefined;
  readonly #commits: (() => number) | undefined;
  readonly #totals: SharedTotals | undefined;
  #changes: { readonly commits: number; readonly count: number } | undefined;

  constructor(
    catalogue: Catalogue,
    connection: SqlConnection,
    { counters, commits, totals, call, longQueries }: ReaderOptions = {},
  ) {
    this.catalogue = catalogue;
    this.#connection = connection;
    this.#counters = counters;
    this.#commits = commits;
    this.#call = call;
    this.#longQueries = longQueries;
    this.#totals = totals;
  }

  /**
   * In the middle of a call that works long: lets other calls have their turns, if this one has had the event loop for
   * long. Reads of several rows do so themselves. Does nothing in a transaction, which others would wait for.
   */
  pause(): Promise<void> | undefined {
    return this.#call?.pause?.();
  }

  /**
   * Waits until other work of the call's account that takes these turns has ended. Returns what is to be called when
   * that of the call has. Errors: the reason of the call's signal.
   */
  takeTurn(turns: AccountTurns): Awaitable<() => void> {
    if (this.#call === undefined) return () => {};
    const { caller, account = caller, signal } = this.#call;
    return turns.begin({ account, caller }, signal);
  }

  /** The connection that the next statement runs on. */
  protected connection(): SqlConnection {
    return this.#connection;
  }

  get(table: TableSpec, uid: string): Awaitable<Row | undefined> {
    const { row, read } = this.catalogue.table(table);
    return chain(this.connection().rows(row.get, { uid }), ([values]) => values && read(values));
  }

  has(table: TableSpec, uid: string): Awaitable<boolean> {
    const { row } = this.catalogue.table(table);
    return chain(this.connection().rows(row.has, { uid }), (rows) => rows.length > 0);
  }

  /** Those of the rows that exist, by uid. */
  async getMany(table: TableSpec, uids: readonly string[]): Promise<Map<string, Row>> {
    if (uids.length === 0) return new Map();
    await this.pause();
    const { row, read } = this.catalogue.table(table);
    const rows = await this.connection().rows(row.getMany, { uids: JSON.stringify(uids) });
    return new Map(rows.map((values) => read(values)).map((row) => [row.uid, row]));
  }

  /** Whether any of these parents has a child. Cheaper than `exists`, which would make a create a fifth slower. */
  hasChildren(table: TableSpec, parents: readonly string[]): Awaitable<boolean> {
    if (parents.length === 0) return false;
    const { row } = this.catalogue.table(table);
    const found = this.connection().rows(row.anyChild(parents.length), { ...parents });
    return chain(found, (rows) => rows.length > 0);
  }

  /** The uid of the child of `parent` that has this value in a column that is unique among the children. */
  childUid(table: TableSpec, parent: string, column: string, value: ScalarValue): Awaitable<string | undefined> {
    const { row } = this.catalogue.table(table);
    const stored = storedColumn(table.columns[column]!, value);
    const found = this.connection().rows(row.child(column, parent !== ""), { parent, [column]: stored });
    return chain(found, ([values]) => values && (values[0] as string));
  }

  /** One page of a selection in its order. */
  list(table: TableSpec, query: ListQuery): Awaitable<Row[]> {
    return chain(this.pause(), () => list(this.#reading(table), query));
  }

  /** The first row of a selection in its order. */
  first(table: TableSpec, query: Omit<ListQuery, "limit">): Awaitable<Row | undefined> {
    return chain(this.list(table, { ...query, limit: 1 }), ([row]) => row);
  }

  /**
   * All rows of a selection in its order, in pages of `limit` rows; none of them is empty. Each page is read when it is
   * asked for, behind the last row of the one before, so the rows of a page may be changed or removed before the next.
   */
  async *pages(table: TableSpec, query: ListQuery): AsyncGenerator<Row[]> {
    const { orderBy = [], limit } = query;
    for (let page = query; ; ) {
      const rows: Row[] = await this.list(table, page);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      if (rows.length < limit) return;
      page = { ...query, skip: 0, after: [...orderBy.map(({ column }) => columnValue(last, column)), last.uid] };
    }
  }

  /** How many rows a selection has, exactly. */
  count(table: TableSpec, selection: Selection): Awaitable<number> {
    return chain(this.pause(), () => count(this.#reading(table), selection));
  }

  async exists(table: TableSpec, selection: Selection): Promise<boolean> {
    await this.pause();
    return exists(this.#reading(table), selection);
  }

  /**
   * How many transactions of all processes have changed a watched table. While this number stays the same, so do those
   * tables, except for columns written by `setColumns`. In a transaction, its own changes are counted.
   */
  changes(): Awaitable<number> {
    const commits = this.#commits?.();
    if (commits !== undefined && this.#changes?.commits === commits) return this.#changes.count;
    return chain(this.total("watched", "changes", [""]), (count) => {
      if (commits !== undefined) this.#changes = { commits, count };
      return count;
    });
  }

  async setting(name: string): Promise<Uint8Array | undefined> {
    const [row] = await this.connection().rows(this.catalogue.settings.get, { name });
    return row?.[0] as Uint8Array | undefined;
  }

  /** Those of the entries of a log that exist, by id. The log needs an index of ids. */
  async find(log: LogSpec, ids: readonly string[]): Promise<Map<string, LogEntry>> {
    if (ids.length === 0) return new Map();
    await this.pause();
    const rows = await this.connection().rows(this.catalogue.log(log).find, { ids: JSON.stringify(ids) });
    return new Map(rows.map((values) => [values[1] as string, entryOf(log, values)]));
  }

  /** The next entries of a log. */
  async scan(log: LogSpec, scan: LogScan): Promise<LogEntry[]> {
    await this.pause();
    const statement = this.catalogue.log(log).scan(scan);
    const rows = await this.connection().rows(statement, scanValues(log, scan));
    return rows.map((values) => entryOf(log, values));
  }

  /** An entry of a queue. */
  async findQueued(queue: string, { partition, id }: QueueKey): Promise<QueueEntry | undefined> {
    const [row] = await this.connection().rows(this.catalogue.queue(queue).find, { partition, id });
    return row && queueEntryOf(row);
  }

  /** The next entries of a partition of a queue, newest first. */
  async scanQueue(queue: string, scan: PartitionScan): Promise<QueueEntry[]> {
    await this.pause();
    const statement = this.catalogue.queue(queue).scan(scan);
    return (await this.connection().rows(statement, partitionValues(scan))).map(queueEntryOf);
  }

  /** How many entries `scanQueue` reads. */
  async countQueued(queue: string, scan: PartitionScan): Promise<number> {
    const statement = this.catalogue.queue(queue).count(scan.states);
    const [row] = await this.connection().rows(statement, partitionValues(scan));
    return row![0] as number;
  }

  #reading(spec: TableSpec) {
    const total = (counterClass: CounterClass, ancestors: readonly string[]) =>
      this.total(spec.name, counterClass, ancestors);
    const connection = this.connection();
    const longQueries = this.#call && this.#longQueries?.connectionFor(this.#call);
    return { table: this.catalogue.table(spec), connection, longQueries, total };
  }

  /** The sum of the counters of distinct ancestors. */
  total(table: string, counterClass: CounterClass, ancestors: readonly string[]): Awaitable<number> {
    const { sum, sumMany } = this.catalogue.counters;
    const isOne = ancestors.length === 1;
    const statement = isOne ? sum : sumMany;
    const values = {
      table,
      class: counterClass,
      [isOne ? "ancestor" : "ancestors"]: isOne ? ancestors[0] : JSON.stringify(ancestors),
    };
    if (this.#totals !== undefined) return this.#totals.read(Object.values(values).join(" "), statement, values);
    return chain(
      this.connection().rows(statement, values),
      ([row]) => (row![0] as number) + (this.#counters?.pending(table, counterClass, ancestors) ?? 0),
    );
  }
}
