/** The connections to a SQLite file: one that writes and one that reads snapshots. */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { DamagedError } from "../../sql/errors.ts";
import { parametersOf, type Statement, type Values } from "../../sql/statement.ts";
import { arrayRows } from "./array-rows.ts";
import { translated } from "./errors.ts";
import type { WritingConnection } from "./group-commit.ts";

/** Runs statements synchronously. Each is prepared on its first use. */
export class SqliteConnection implements WritingConnection {
  readonly #database: DatabaseSync;
  readonly #prepared = new WeakMap<Statement, StatementSync>();
  #writes = 0;
  #damage: DamagedError | undefined;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  get writes(): number {
    return this.#writes;
  }

  /** The first part of the file that a statement could not read. */
  get damage(): DamagedError | undefined {
    return this.#damage;
  }

  rows(statement: Statement, values: Values): unknown[][] {
    try {
      const rows = arrayRows(this.#prepare(statement), ...bind(statement, values));
      if (!statement.text.startsWith("select ")) this.#writes++;
      return rows;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  run(statement: Statement, values: Values): number {
    try {
      const { changes } = this.#prepare(statement).run(...bind(statement, values));
      this.#writes++;
      return Number(changes);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #failed(error: unknown): unknown {
    const failure = translated(error);
    if (failure instanceof DamagedError) this.#damage ??= failure;
    return failure;
  }

  send(statement: Statement, values: Values, failed: (error: unknown) => unknown): void {
    try {
      this.run(statement, values);
    } catch (error) {
      throw failed(error);
    }
  }

  #prepare(statement: Statement): StatementSync {
    let prepared = this.#prepared.get(statement);
    if (prepared === undefined) {
      prepared = this.#database.prepare(statement.text);
      prepared.setReturnArrays(true);
      this.#prepared.set(statement, prepared);
    }
    return prepared;
  }
}

/**
 * Reads from snapshots. All reads in one turn of the event loop share a snapshot, because a statement costs less than
 * the locks around it. While a commit of this process is being flushed to disk, the snapshot from before it is kept, so
 * that nothing is read that a power failure may take back. If another process commits meanwhile, a new snapshot is
 * taken, because reads must see that commit.
 */
export class SnapshotConnection extends SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #others: StatementSync;
  readonly #begin: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #commit: StatementSync;
  #isOpen = false;
  #version: unknown;
  #commits = 0;
  /** The writer's data version when the snapshot began to be kept; undefined while it is not. */
  #othersWhenHeld: unknown;

  /** @param writer the connection of this process that writes. */
  constructor(database: DatabaseSync, writer: DatabaseSync) {
    super(database);
    this.#database = database;
    this.#others = dataVersion(writer);
    this.#begin = database.prepare("begin");
    this.#commit = database.prepare("commit");
    this.#dataVersion = dataVersion(database);
  }

  override rows(statement: Statement, values: Values): unknown[][] {
    if (!this.#isOpen) this.#open();
    return super.rows(statement, values);
  }

  /** A number that changes with every commit of any connection. */
  readonly commits = (): number => {
    if (!this.#isOpen) this.#open();
    return this.#commits;
  };

  /** Keeps a snapshot from now on: the writer is about to commit. */
  hold(): void {
    this.renew();
    if (!this.#isOpen) this.#open();
    this.#othersWhenHeld = versionOf(this.#others);
  }

  /** Makes the commit of the writer visible. */
  release(): void {
    this.#othersWhenHeld = undefined;
    this.renew();
  }

  /** Ends the snapshot, unless it is kept and no other process has committed since. Never fails. */
  renew(): void {
    if (!this.#isOpen) return;
    if (this.#othersWhenHeld !== undefined && !this.#hasChanged()) return;
    this.#isOpen = false;
    if (!this.#database.isTransaction) return;
    try {
      this.#commit.run();
    } catch {
      // The read that met the fault has reported it. Usually the failed COMMIT has ended the transaction.
      if (this.#database.isTransaction) this.#rollBack();
    }
  }

  #rollBack(): void {
    try {
      this.#database.exec("rollback");
    } catch {
      // If the transaction is still open, the next BEGIN reports it.
    }
  }

  readonly #renewAtEnd = () => this.renew();

  #hasChanged(): boolean {
    try {
      return versionOf(this.#others) !== this.#othersWhenHeld;
    } catch {
      return true; // the next read reports the error
    }
  }

  #open(): void {
    this.#isOpen = true;
    setImmediate(this.#renewAtEnd);
    try {
      this.#begin.run();
      const version = versionOf(this.#dataVersion);
      if (version !== this.#version) this.#commits++;
      this.#version = version;
    } catch (error) {
      this.renew();
      throw translated(error);
    }
  }
}

/** A statement whose result changes when any other connection than its own has committed. */
function dataVersion(database: DatabaseSync): StatementSync {
  const statement = database.prepare("pragma data_version");
  statement.setReturnArrays(true);
  return statement;
}

function versionOf(dataVersion: StatementSync): unknown {
  return arrayRows(dataVersion)[0]![0];
}

function bind(statement: Statement, values: Values): SQLInputValue[] {
  return parametersOf(statement, values) as SQLInputValue[];
}
