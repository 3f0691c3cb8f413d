/** Reading: single rows, pages, totals, settings. */

import { andThen, type Eventually } from "../eventually.ts";
import { count, exists } from "./count.ts";
import type { CounterClass, CounterStatements, Counters } from "./counters.ts";
import { type ScalarValue, storedFacet } from "./facet.ts";
import { list } from "./list.ts";
import { entryOf, type LogEntry, type LogScan, type LogSpec, type LogStatements, scanValues } from "./log.ts";
import type { QueueStatements } from "./queue.ts";
import type { Row, TableSpec } from "./row.ts";
import type { ListQuery, Selection } from "./selection.ts";
import type { SettingStatements } from "./settings.ts";
import type { Connection } from "./statement.ts";
import type { Table } from "./table.ts";

/**
 * Reads. Outside a transaction every call sees what this process had committed when it began, and other processes at the first read of this
 * turn of the event loop, or after the latest `refresh` in it.
 */
export interface ReadSession {
  get(table: TableSpec, uid: string): Eventually<Row | undefined>;
  has(table: TableSpec, uid: string): Eventually<boolean>;
  /** The rows that exist, by uid. */
  getMany(table: TableSpec, uids: readonly string[]): Promise<Map<string, Row>>;
  /** Whether a row has one of these parents. `exists` could tell too; asked for every event, it makes a create a fifth slower. */
  hasChildren(table: TableSpec, parents: readonly string[]): Eventually<boolean>;
  /** The uid of the child of `parent` with this value in a column that is unique among its children. */
  childUid(table: TableSpec, parent: string, column: string, value: ScalarValue): Eventually<string | undefined>;
  /** A page of a selection in its order; rows written between two pages neither repeat nor hide one that stays as it is. */
  list(table: TableSpec, query: ListQuery): Eventually<Row[]>;
  /** How many rows a selection has, exactly. */
  count(table: TableSpec, selection: Selection): Eventually<number>;
  exists(table: TableSpec, selection: Selection): Promise<boolean>;
  /**
   * How often watched tables have been changed, by whatever process: while this number stays the same, so does everything in them but facets
   * that were set alone. In a transaction its own changes are counted.
   */
  changes(): Eventually<number>;
  setting(name: string): Promise<Uint8Array | undefined>;
  /** The entries of a log that exist, by id; for logs with an index of their ids. */
  find(log: LogSpec, ids: readonly string[]): Promise<Map<string, LogEntry>>;
  /** The next entries of a log, oldest first. */
  scan(log: LogSpec, scan: LogScan): Promise<LogEntry[]>;
}

/** Every statement of a database. */
export interface Catalogue {
  table(spec: TableSpec): Table;
  log(spec: LogSpec): LogStatements;
  queue(name: string): QueueStatements;
  readonly counters: CounterStatements;
  readonly settings: SettingStatements;
}

/** Reads on one connection, or on any of a pool. */
export class Reader implements ReadSession {
  protected readonly catalogue: Catalogue;
  readonly #connection: Connection;
  readonly #counters: Counters | undefined;

  readonly #commits: (() => number) | undefined;
  #changes: { readonly commits: number; readonly count: number } | undefined;

  /**
   * @param counters what the transaction has counted but not yet written.
   * @param commits outside a transaction: a number that tells when to look at the counters again.
   */
  constructor(catalogue: Catalogue, connection: Connection, counters?: Counters, commits?: () => number) {
    this.catalogue = catalogue;
    this.#connection = connection;
    this.#counters = counters;
    this.#commits = commits;
  }

  /** Where statements run now. */
  protected connection(): Connection {
    return this.#connection;
  }

  get(table: TableSpec, uid: string): Eventually<Row | undefined> {
    const { row, read } = this.catalogue.table(table);
    return andThen(this.connection().rows(row.get, { uid }), ([columns]) => columns && read(columns));
  }

  has(table: TableSpec, uid: string): Eventually<boolean> {
    const { row } = this.catalogue.table(table);
    return andThen(this.connection().rows(row.has, { uid }), (rows) => rows.length > 0);
  }

  async getMany(table: TableSpec, uids: readonly string[]): Promise<Map<string, Row>> {
    if (uids.length === 0) return new Map();
    const { row, read } = this.catalogue.table(table);
    const rows = await this.connection().rows(row.getMany, { uids: JSON.stringify(uids) });
    return new Map(rows.map((columns) => read(columns)).map((row) => [row.uid, row]));
  }

  hasChildren(table: TableSpec, parents: readonly string[]): Eventually<boolean> {
    if (parents.length === 0) return false;
    const { row } = this.catalogue.table(table);
    const found = this.connection().rows(row.anyChild(parents.length), { ...parents });
    return andThen(found, (rows) => rows.length > 0);
  }

  childUid(table: TableSpec, parent: string, column: string, value: ScalarValue): Eventually<string | undefined> {
    const { row } = this.catalogue.table(table);
    const facet = storedFacet(table.facets[column]!, value);
    const found = this.connection().rows(row.child(column), { parent, [column]: facet });
    return andThen(found, ([columns]) => columns && (columns[0] as string));
  }

  list(table: TableSpec, query: ListQuery): Eventually<Row[]> {
    return list(this.#reading(table), query);
  }

  count(table: TableSpec, selection: Selection): Eventually<number> {
    return count(this.#reading(table), selection);
  }

  exists(table: TableSpec, selection: Selection): Promise<boolean> {
    return exists(this.#reading(table), selection);
  }

  changes(): Eventually<number> {
    const commits = this.#commits?.();
    if (commits !== undefined && this.#changes?.commits === commits) return this.#changes.count;
    return andThen(this.#total("watched", "changes", [""]), (count) => {
      if (commits !== undefined) this.#changes = { commits, count };
      return count;
    });
  }

  async setting(name: string): Promise<Uint8Array | undefined> {
    const [row] = await this.connection().rows(this.catalogue.settings.get, { name });
    return row?.[0] as Uint8Array | undefined;
  }

  async find(log: LogSpec, ids: readonly string[]): Promise<Map<string, LogEntry>> {
    if (ids.length === 0) return new Map();
    const rows = await this.connection().rows(this.catalogue.log(log).find, { ids: JSON.stringify(ids) });
    return new Map(rows.map((columns) => [columns[1] as string, entryOf(log, columns)]));
  }

  async scan(log: LogSpec, scan: LogScan): Promise<LogEntry[]> {
    const statement = this.catalogue.log(log).scan(scan.where?.column);
    const rows = await this.connection().rows(statement, scanValues(log, scan));
    return rows.map((columns) => entryOf(log, columns));
  }

  #reading(spec: TableSpec) {
    const total = (counterClass: CounterClass, ancestors: readonly string[]) =>
      this.#total(spec.name, counterClass, ancestors);
    return { table: this.catalogue.table(spec), connection: this.connection(), total };
  }

  #total(table: string, counterClass: CounterClass, ancestors: readonly string[]): Eventually<number> {
    const { sum, sumMany } = this.catalogue.counters;
    const counted = { table, class: counterClass };
    const [ancestor] = ancestors;
    return andThen(
      ancestors.length === 1
        ? this.connection().rows(sum, { ...counted, ancestor })
        : this.connection().rows(sumMany, { ...counted, ancestors: JSON.stringify(ancestors) }),
      ([row]) => (row![0] as number) + (this.#counters?.pending(table, counterClass, ancestors) ?? 0),
    );
  }
}
