/** Writing: what a transaction may do. */
import { type Eventually, settle } from "../eventually.ts";
import type { Counters } from "./counters.ts";
import { NotUniqueError, StaleError, UniqueViolation } from "./errors.ts";
import type { FacetValue } from "./facet.ts";
import { appendValues, type LogEntry, type LogSpec } from "./log.ts";
import { pack } from "./packed.ts";
import { addValues, type NewQueueEntry } from "./queue.ts";
import { type Catalogue, Reader, type ReadSession } from "./read-session.ts";
import { checkUid, type Row, readFacets, storedFacets, type TableSpec } from "./row.ts";
import type { RowStatements } from "./row-statements.ts";
import type { Connection, Statement, Values } from "./statement.ts";

/** Reads and writes of one transaction. It refuses use after its end, and after a statement of it failed. */
export interface WriteSession extends ReadSession {
  /** Stores a new row with version 1. Errors: NotUniqueError. */
  insert(table: TableSpec, row: Omit<Row, "version">): Promise<Row>;
  /**
   * Stores body, facets and update time of a row, whose version must be the one read; its uid and create time stay. Gives the row with its new
   * version. Errors: StaleError when it has another version or is gone, NotUniqueError.
   */
  update(table: TableSpec, row: Row): Promise<Row>;
  /** Sets the facets named and moves neither version nor times; false when there is no such row. Errors: NotUniqueError. */
  setFacets(table: TableSpec, uid: string, facets: Readonly<Record<string, FacetValue>>): Promise<boolean>;
  /** Removes a row and gives what it was; rows below it stay. */
  remove(table: TableSpec, uid: string): Promise<Row | undefined>;
  putSetting(name: string, value: Uint8Array): Promise<void>;
  /** Stores a setting that does not exist yet; false when it does. */
  addSetting(name: string, value: Uint8Array): Promise<boolean>;
  append(log: LogSpec, entry: LogEntry): Promise<void>;
  /** Adds entries to a queue, those that it does not have yet; how many. */
  enqueue(queue: string, entries: readonly NewQueueEntry[]): Promise<number>;
  /** Removes some pending entries of a lane of a queue; how many. */
  removePending(queue: string, lane: string, limit: number): Promise<number>;
  /** Drops about `limit` of the oldest entries made before `beforeUs`; how many. */
  forget(log: LogSpec, beforeUs: number, limit: number): Promise<number>;
}

/** What of a signal a session asks. */
export type StopSignal = Pick<AbortSignal, "throwIfAborted">;

/** The session of one work in a transaction. */
export class Writer extends Reader implements WriteSession {
  readonly #counters: Counters;
  readonly #signal: StopSignal | undefined;
  #failure: unknown;
  #ended = false;

  constructor(catalogue: Catalogue, connection: Connection, counters: Counters, signal: StopSignal | undefined) {
    super(
      catalogue,
      watched(connection, (error) => this.#fail(error)),
      counters,
    );
    this.#counters = counters;
    this.#signal = signal;
  }

  /** The error of the statement that failed, if one did: the transaction can only be rolled back. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Ends the session: its transaction is over. */
  end(): void {
    this.#ended = true;
  }

  protected override connection(): Connection {
    if (this.#ended) throw new Error("the transaction of this session has ended");
    if (this.#failure !== undefined) throw this.#failure;
    this.#signal?.throwIfAborted();
    return super.connection();
  }

  #fail(error: unknown): unknown {
    this.#failure = error;
    return error;
  }

  async insert(table: TableSpec, row: Omit<Row, "version">): Promise<Row> {
    checkUid(row.uid, row.parent);
    const facets = storedFacets(table, row.facets);
    const { row: statements } = this.catalogue.table(table);
    const version = 1;
    await this.#run(table, statements.insert, {
      uid: row.uid,
      parent: row.parent,
      version,
      create_time_us: row.createTimeUs,
      update_time_us: row.updateTimeUs,
      packed: pack({ ...row, version }),
      ...facets,
    });
    this.#counters.inserted(table.name, row.uid, row.parent);
    if (table.isWatched) this.#counters.changed();
    const inserted = { ...row, version, facets: readFacets(table, facets) };
    await this.#keepIndexes(statements, row.uid, undefined, inserted.facets);
    return inserted;
  }

  async update(table: TableSpec, row: Row): Promise<Row> {
    const facets = storedFacets(table, row.facets);
    const version = row.version + 1;
    const { row: statements } = this.catalogue.table(table);
    const before = statements.indexes.length > 0 ? await this.get(table, row.uid) : undefined;
    const changed = await this.#run(table, statements.update, {
      uid: row.uid,
      read_version: row.version,
      version,
      update_time_us: row.updateTimeUs,
      packed: pack({ ...row, version }),
      ...facets,
    });
    if (changed === 0) throw new StaleError(table.name, row.uid);
    if (table.isWatched) this.#counters.changed();
    const updated = { ...row, version, facets: readFacets(table, facets) };
    if (before !== undefined) await this.#keepIndexes(statements, row.uid, before.facets, updated.facets);
    return updated;
  }

  async setFacets(table: TableSpec, uid: string, facets: Readonly<Record<string, FacetValue>>): Promise<boolean> {
    const columns = Object.keys(facets);
    const { row: statements } = this.catalogue.table(table);
    const isIndexed = statements.indexes.some(({ column }) => columns.includes(column));
    const before = isIndexed ? await this.get(table, uid) : undefined;
    const set = storedFacets(table, facets, columns);
    const changed = await this.#run(table, statements.setFacets(columns), { uid, ...set });
    if (before !== undefined)
      await this.#keepIndexes(statements, uid, before.facets, { ...before.facets, ...readFacets(table, set) });
    return changed > 0;
  }

  async remove(table: TableSpec, uid: string): Promise<Row | undefined> {
    const { row: statements, read } = this.catalogue.table(table);
    const before = statements.indexes.length > 0 ? await this.get(table, uid) : undefined;
    if (before !== undefined) await this.#keepIndexes(statements, uid, before.facets, undefined);
    const [columns] = await this.connection().rows(statements.remove, { uid });
    if (columns === undefined) return undefined;
    const row = read(columns);
    this.#counters.removed(table.name, uid, row.parent);
    if (table.isWatched) this.#counters.changed();
    return row;
  }

  async putSetting(name: string, value: Uint8Array): Promise<void> {
    await this.connection().run(this.catalogue.settings.put, { name, value });
  }

  async addSetting(name: string, value: Uint8Array): Promise<boolean> {
    return (await this.connection().run(this.catalogue.settings.add, { name, value })) > 0;
  }

  async append(log: LogSpec, entry: LogEntry): Promise<void> {
    await this.connection().run(this.catalogue.log(log).append, appendValues(log, entry));
  }

  async enqueue(queue: string, entries: readonly NewQueueEntry[]): Promise<number> {
    return this.connection().run(this.catalogue.queue(queue).add, addValues(entries));
  }

  async removePending(queue: string, lane: string, limit: number): Promise<number> {
    return this.connection().run(this.catalogue.queue(queue).removePending, { lane, limit });
  }

  async forget(log: LogSpec, beforeUs: number, limit: number): Promise<number> {
    return this.connection().run(this.catalogue.log(log).forget, { time_us: beforeUs, limit });
  }

  /** Brings the indexes of a row that is there from what they were told of it to what it holds. */
  async #keepIndexes(
    { indexes }: RowStatements,
    uid: string,
    before: Row["facets"] | undefined,
    after: Row["facets"] | undefined,
  ): Promise<void> {
    for (const { column, add, drop, told } of indexes) {
      const wasTold = before && told(uid, before[column]!);
      const isTold = after && told(uid, after[column]!);
      if (wasTold === isTold) continue;
      if (wasTold !== undefined) await this.connection().run(drop, { uid, told: wasTold });
      if (isTold !== undefined) await this.connection().run(add, { uid, told: isTold });
    }
  }

  async #run(table: TableSpec, statement: Statement, values: Values): Promise<number> {
    try {
      return await this.connection().run(statement, values);
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
      throw this.#fail(new NotUniqueError(table.name, error.constraint, error.cause));
    }
  }
}

/** A connection that tells of every statement that fails. */
function watched(connection: Connection, fail: (error: unknown) => unknown): Connection {
  const watch = <T>(run: () => Eventually<T>): Eventually<T> =>
    settle(
      run,
      (result) => result,
      (error) => {
        throw fail(error);
      },
    );
  return {
    rows: (statement, values) => watch(() => connection.rows(statement, values)),
    run: (statement, values) => watch(() => connection.run(statement, values)),
  };
}
