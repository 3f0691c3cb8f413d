/** Writes: what a transaction can do. */

import { type Awaitable, chain, tryChain } from "../awaitable.ts";
import type { TransactingCall } from "./engines/engine.ts";
import { type Counters, countsBytes } from "./logs/counters.ts";
import { appendValues, type LogEntry, type LogSpec } from "./logs/log.ts";
import type { NewQueueEntry, QueueKey } from "./logs/queue-entry.ts";
import { addValues, requeueValues } from "./logs/queue-session.ts";
import { type Catalogue, Reader } from "./read-session.ts";
import type { Additions } from "./row-limits.ts";
import { pack, packedBytes } from "./rows/packed.ts";
import type { Row } from "./rows/record.ts";
import { checkUid, readColumns, storedColumns, type TableSpec } from "./rows/row.ts";
import type { RowStatements } from "./rows/statements.ts";
import { NotUniqueError, StaleError, UniqueViolation } from "./sql/errors.ts";
import type { ColumnValue } from "./sql/indexed-column.ts";
import { observed } from "./sql/observed-connection.ts";
import type { SqlConnection, Statement, Values } from "./sql/statement.ts";
import { rangeOf } from "./sql/subtree.ts";

/** What a {@link Writer} may have besides its connection. */
interface WriterOptions {
  readonly call: TransactingCall | undefined;
  readonly checksNames: boolean;
  /** What it adds to limited tables; undefined: nothing is limited. */
  readonly additions: Additions | undefined;
}

/**
 * Reads and writes of one transaction. It cannot be used after the transaction has ended or one of its statements has
 * failed.
 */
export type WriteSession = Omit<Writer, "total" | "failure" | "end">;

/** The session of one run of a transaction's body. */
export class Writer extends Reader {
  readonly #counters: Counters;
  readonly #call: TransactingCall | undefined;
  readonly #additions: Additions | undefined;
  /**
   * Whether to look for a row with the same name before writing one. False at the first attempt of a transaction that
   * runs again when it loses: it leaves the decision to the unique index.
   */
  readonly checksNames: boolean;
  #failure: unknown;
  #ended = false;

  constructor(
    catalogue: Catalogue,
    connection: SqlConnection,
    counters: Counters,
    { call, checksNames, additions }: WriterOptions,
  ) {
    super(
      catalogue,
      reportingFailures(observed(connection, call?.statements), (error) => this.#fail(error)),
      { counters },
    );
    this.#counters = counters;
    this.#call = call;
    this.#additions = additions;
    this.checksNames = checksNames;
  }

  /** The error of the statement that failed, if one did. The transaction can then only be rolled back. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Makes the session refuse all further use. */
  end(): void {
    this.#ended = true;
  }

  protected override connection(): SqlConnection {
    if (this.#ended) throw new Error("the transaction of this session has ended");
    if (this.#failure !== undefined) throw this.#failure;
    this.#call?.throwIfAborted();
    return super.connection();
  }

  #fail(error: unknown): unknown {
    this.#failure = error;
    return error;
  }

  /** Whether the row exists. It then exists until the transaction ends. */
  hold(table: TableSpec, uid: string): Awaitable<boolean> {
    const { row } = this.catalogue.table(table);
    return chain(this.connection().rows(row.hold, { uid }), (rows) => rows.length > 0);
  }

  /** As `get`. No other transaction changes or removes the row before this one ends. */
  getToChange(table: TableSpec, uid: string): Awaitable<Row | undefined> {
    const { row, read } = this.catalogue.table(table);
    return chain(this.connection().rows(row.getToChange, { uid }), ([values]) => values && read(values));
  }

  /** As `getToChange`, and no other transaction holds the row. */
  getToRemove(table: TableSpec, uid: string): Awaitable<Row | undefined> {
    const { row, read } = this.catalogue.table(table);
    return chain(this.connection().rows(row.getToRemove, { uid }), ([values]) => values && read(values));
  }

  /** No other transaction holds, changes or removes the rows below `root` before this one ends. */
  lockBelow(table: TableSpec, root: string): Awaitable<void> {
    if (!this.catalogue.locksRows) return;
    const { row } = this.catalogue.table(table);
    return chain(this.connection().rows(row.lockRange, { ...rangeOf({ root, self: false }) }), () => {});
  }

  /** Makes other transactions that lock the same row wait until this one ends. They may hold it. */
  lock(table: TableSpec, uid: string): Awaitable<void> {
    if (!this.catalogue.locksRows) return;
    return chain(this.getToChange(table, uid), () => {});
  }

  /** The same with a setting. */
  lockSetting(name: string): Awaitable<void> {
    if (!this.catalogue.locksRows) return;
    return chain(this.connection().rows(this.catalogue.settings.lock, { name }), () => {});
  }

  /** Inserts a row with version 1. Errors: NotUniqueError. */
  async insert(table: TableSpec, row: Omit<Row, "version">): Promise<Row> {
    checkUid(row.uid, row.parent);
    const columns = storedColumns(table, row.columns);
    const { row: statements } = this.catalogue.table(table);
    const version = 1;
    // An attempt that runs again when a name is taken learns it at the end.
    const insert = (values: Values) =>
      this.checksNames
        ? this.#run(table, statements.insert, values)
        : this.connection().send(statements.insert, values, (error) => errorOf(table, error));
    await insert({
      uid: row.uid,
      parent: row.parent,
      version,
      create_time_us: row.createTimeUs,
      update_time_us: row.updateTimeUs,
      packed: pack({ ...row, version }),
      ...columns,
    });
    this.#counters.inserted(table.name, row.uid, row.parent);
    if (countsBytes(table.name)) this.#counters.resized(table.name, row.uid, packedBytes(row));
    this.#additions?.note(table, row.uid);
    if (table.isWatched) this.#counters.changed();
    const inserted = { ...row, version, columns: readColumns(table, columns) };
    await this.#maintainIndexes(statements, row.uid, undefined, inserted.columns);
    return inserted;
  }

  /**
   * Writes body, columns and update time of a row and returns it with its new version. `row.version` must be the stored
   * version.
   * Errors: StaleError when the stored version differs or the row is gone; NotUniqueError.
   */
  async update(table: TableSpec, row: Row): Promise<Row> {
    const columns = storedColumns(table, row.columns);
    const version = row.version + 1;
    const { row: statements } = this.catalogue.table(table);
    const isSized = countsBytes(table.name);
    const before = statements.indexes.length > 0 || isSized ? await this.get(table, row.uid) : undefined;
    const changed = await this.#run(table, statements.update, {
      uid: row.uid,
      read_version: row.version,
      version,
      update_time_us: row.updateTimeUs,
      packed: pack({ ...row, version }),
      ...columns,
    });
    if (changed === 0) throw this.#fail(new StaleError(table.name, row.uid));
    if (table.isWatched) this.#counters.changed();
    if (isSized) {
      this.#counters.resized(table.name, row.uid, packedBytes(row) - packedBytes(before!));
      this.#additions?.note(table, row.uid);
    }
    const updated = { ...row, version, columns: readColumns(table, columns) };
    if (before !== undefined) await this.#maintainIndexes(statements, row.uid, before.columns, updated.columns);
    return updated;
  }

  /**
   * Writes these columns and changes neither version nor times. Returns false when there is no such row. Errors:
   * NotUniqueError.
   */
  async setColumns(table: TableSpec, uid: string, columns: Readonly<Record<string, ColumnValue>>): Promise<boolean> {
    const names = Object.keys(columns);
    const { row: statements } = this.catalogue.table(table);
    const isIndexed = statements.indexes.some(({ column }) => names.includes(column));
    const before = isIndexed ? await this.get(table, uid) : undefined;
    const set = storedColumns(table, columns, names);
    const changed = await this.#run(table, statements.setColumns(names), { uid, ...set });
    if (before !== undefined)
      await this.#maintainIndexes(statements, uid, before.columns, { ...before.columns, ...readColumns(table, set) });
    return changed > 0;
  }

  /** Removes a row and returns it. Rows below it stay. */
  async remove(table: TableSpec, uid: string): Promise<Row | undefined> {
    const { row: statements, read } = this.catalogue.table(table);
    const before = statements.indexes.length > 0 ? await this.get(table, uid) : undefined;
    if (before !== undefined) await this.#maintainIndexes(statements, uid, before.columns, undefined);
    const [values] = await this.connection().rows(statements.remove, { uid });
    if (values === undefined) return undefined;
    const row = read(values);
    this.#counters.removed(table.name, uid, row.parent);
    if (countsBytes(table.name)) this.#counters.resized(table.name, uid, -packedBytes(row));
    if (table.isWatched) this.#counters.changed();
    return row;
  }

  async putSetting(name: string, value: Uint8Array): Promise<void> {
    await this.connection().run(this.catalogue.settings.put, { name, value });
  }

  /** Adds a setting. Returns false, and changes nothing, when it exists. */
  async addSetting(name: string, value: Uint8Array): Promise<boolean> {
    return (await this.connection().run(this.catalogue.settings.add, { name, value })) > 0;
  }

  /** Makes `changes` differ, as a change of a watched table does. */
  countChange(): void {
    this.#counters.changed();
  }

  async append(log: LogSpec, entry: LogEntry): Promise<void> {
    await this.connection().send(this.catalogue.log(log).append, appendValues(log, entry), (error) => error);
  }

  /** Adds those of the entries that a queue does not have. Returns how many. */
  async enqueue(queue: string, entries: readonly NewQueueEntry[]): Promise<number> {
    return this.connection().run(this.catalogue.queue(queue).add, addValues(entries));
  }

  /** Makes entries of a queue, of any state, pending and due now, with no attempts. Returns how many exist. */
  async requeue(queue: string, keys: readonly QueueKey[], nowUs: number, expireUs: number): Promise<number> {
    return this.connection().run(this.catalogue.queue(queue).requeue, requeueValues(keys, nowUs, expireUs));
  }

  /** Removes at most `limit` pending entries of a partition of a queue. Returns how many. */
  async removePending(queue: string, partition: string, limit: number): Promise<number> {
    return this.connection().run(this.catalogue.queue(queue).removePending, { partition, limit });
  }

  /** Removes about `limit` of the oldest entries that were made before `beforeUs`. Returns how many. */
  async forget(log: LogSpec, beforeUs: number, limit: number): Promise<number> {
    return this.connection().run(this.catalogue.log(log).forget, { time_us: beforeUs, limit });
  }

  /** Begins to read what the limits of a row need that will be inserted, while other statements run. */
  expectInsert(table: TableSpec, uid: string): void {
    this.#additions?.note(table, uid);
  }

  /**
   * Compares what was added so far with the limits of rows, as the end of every transaction does. Errors: that of the
   * limit which is exceeded.
   */
  async checkLimits(): Promise<void> {
    await this.#additions?.check();
  }

  /** Updates the content indexes for a row that is stored, from its values before to its values after. */
  async #maintainIndexes(
    { indexes }: RowStatements,
    uid: string,
    before: Row["columns"] | undefined,
    after: Row["columns"] | undefined,
  ): Promise<void> {
    for (const { column, add, drop, documentOf } of indexes) {
      const oldDocument = before && documentOf(uid, before[column]!);
      const newDocument = after && documentOf(uid, after[column]!);
      if (oldDocument === newDocument) continue;
      if (oldDocument !== undefined) await this.connection().run(drop, { uid, document: oldDocument });
      if (newDocument !== undefined) await this.connection().run(add, { uid, document: newDocument });
    }
  }

  async #run(table: TableSpec, statement: Statement, values: Values): Promise<number> {
    try {
      return await this.connection().run(statement, values);
    } catch (error) {
      throw this.#fail(errorOf(table, error));
    }
  }
}

/** A unique violation in a table as the error of a session. */
function errorOf(table: TableSpec, error: unknown): unknown {
  return error instanceof UniqueViolation ? new NotUniqueError(table.name, error.constraint, error.cause) : error;
}

/** A connection that passes every error through `fail`. */
function reportingFailures(connection: SqlConnection, fail: (error: unknown) => unknown): SqlConnection {
  const report = <T>(run: () => Awaitable<T>): Awaitable<T> =>
    tryChain(
      run,
      (result) => result,
      (error) => {
        throw fail(error);
      },
    );
  return {
    rows: (statement, values) => report(() => connection.rows(statement, values)),
    run: (statement, values) => report(() => connection.run(statement, values)),
    send: (statement, values, failed) =>
      report(() => connection.send(statement, values, (error) => fail(failed(error)))),
  };
}
