/** The connections to a SQLite file: one that writes, and one that reads snapshots. */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { parametersOf, type Statement, type Values } from "../statement.ts";
import type { WritingConnection } from "./group-commit.ts";
import { translated } from "./sqlite-errors.ts";

/** Runs statements at once, each prepared on its first use. */
export class SqliteConnection implements WritingConnection {
  readonly #database: DatabaseSync;
  readonly #prepared = new WeakMap<Statement, StatementSync>();
  #writes = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  get writes(): number {
    return this.#writes;
  }

  rows(statement: Statement, values: Values): unknown[][] {
    try {
      const rows = this.#prepare(statement).all(...bind(statement, values)) as unknown as unknown[][];
      if (!statement.text.startsWith("select ")) this.#writes++;
      return rows;
    } catch (error) {
      throw translated(error);
    }
  }

  run(statement: Statement, values: Values): number {
    try {
      const { changes } = this.#prepare(statement).run(...bind(statement, values));
      this.#writes++;
      return Number(changes);
    } catch (error) {
      throw translated(error);
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
 * Reads, all that is asked for in one turn of the event loop from one snapshot: a statement costs less than the locks around it. While a commit of
 * this process is on its way to disk the snapshot from before it is kept, so that nothing is read that a power cut may take back; except when
 * another process has committed too, which a read must not miss. When it is on disk the snapshot is given up.
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
  /** What the writer said of the commits of other processes when the snapshot began to be kept. */
  #othersWhenHeld: unknown;

  /** @param writer the connection of this process that commits. */
  constructor(database: DatabaseSync, writer: DatabaseSync) {
    super(database);
    this.#database = database;
    this.#others = dataVersion(writer);
    this.#begin = database.prepare("begin");
    this.#commit = database.prepare("commit");
    this.#dataVersion = dataVersion(database);
  }

  override rows(statement: Statement, values: Values): unknown[][] {
    this.#open();
    return super.rows(statement, values);
  }

  /** A number that changes with what is committed, by whatever connection. */
  commits(): number {
    this.#open();
    return this.#commits;
  }

  /** Keeps a snapshot: the writer is about to commit. */
  hold(): void {
    this.renew();
    this.#open();
    this.#othersWhenHeld = versionOf(this.#others);
  }

  /** What the writer has committed may be read. */
  release(): void {
    this.#othersWhenHeld = undefined;
    this.renew();
  }

  /** Gives up the snapshot, unless it is kept and lacks nothing that another process has committed. */
  renew(): void {
    if (!this.#isOpen) return;
    if (this.#othersWhenHeld !== undefined && !this.#hasChanged()) return;
    this.#isOpen = false;
    if (this.#database.isTransaction) this.#commit.run();
  }

  #hasChanged(): boolean {
    try {
      return versionOf(this.#others) !== this.#othersWhenHeld;
    } catch {
      return true; // the next read tells why
    }
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    setImmediate(() => this.renew());
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

/** Tells whether others have committed: a number that changes when a connection has, other than the one it is asked on. */
function dataVersion(database: DatabaseSync): StatementSync {
  const statement = database.prepare("pragma data_version");
  statement.setReturnArrays(true);
  return statement;
}

function versionOf(dataVersion: StatementSync): unknown {
  return (dataVersion.get() as unknown as [unknown])[0];
}

function bind(statement: Statement, values: Values): SQLInputValue[] {
  return parametersOf(statement, values) as SQLInputValue[];
}
