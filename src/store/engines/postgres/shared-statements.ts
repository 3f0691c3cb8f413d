/** The statements of transactions that share one of the database. */
import type { Awaitable } from "../../../awaitable.ts";
import { parametersOf, type SqlConnection, type Statement, type Values } from "../../sql/statement.ts";
import { isMergeable, merged } from "./merged-inserts.ts";

/** A statement that excludes other transactions, or changes what they rely on. Its transaction must run alone. */
export class NotShareable extends Error {
  override readonly name = "NotShareable";
}

/** The statements of all of them: inserts are merged and sent together, a row is held once. */
export class SharedStatements implements SqlConnection {
  readonly #connection: SqlConnection;
  readonly #inserts = new Map<Statement, Values[]>();
  readonly #holds = new Map<string, Promise<unknown[][]>>();
  #sending = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(connection: SqlConnection) {
    this.#connection = connection;
  }

  rows(statement: Statement, values: Values): Promise<unknown[][]> {
    return this.#reported(this.#connection.rows(statement, values));
  }

  run(statement: Statement, values: Values): Promise<number> {
    return this.#reported(this.#connection.run(statement, values));
  }

  async send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Promise<void> {
    await this.#reported(this.#connection.send(statement, values, failed));
  }

  /** After a statement has failed, the transaction has. */
  async #reported<T>(result: Awaitable<T>): Promise<T> {
    try {
      return await result;
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  /** Adds a row when `finish` is called. */
  insert(statement: Statement, values: Values): void {
    const rows = this.#inserts.get(statement);
    if (rows === undefined) this.#inserts.set(statement, [values]);
    else rows.push(values);
  }

  /** Holds rows until the end of the transaction. */
  hold(statement: Statement, values: Values): Promise<unknown[][]> {
    const key = [statement.text, ...parametersOf(statement, values)].join("\0");
    let held = this.#holds.get(key);
    if (held === undefined) {
      held = this.rows(statement, values);
      this.#holds.set(key, held);
    }
    return held;
  }

  /** Makes `finish` fail. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Sends the inserts so far. Statements that follow see them. */
  finish(): Promise<void> {
    this.#sending = this.#sending.then(async () => {
      if (this.#failure !== undefined) throw this.#failure.error;
      const inserts = [...this.#inserts].flatMap(([statement, rows]) => merged(statement, rows));
      this.#inserts.clear();
      for (const { statement, values } of inserts) await this.send(statement, values, (error) => error);
    });
    return this.#sending;
  }
}

/** The connection as one of the transactions sees it. Errors, in addition: NotShareable. */
export class UnitConnection implements SqlConnection {
  readonly #shared: SharedStatements;
  /** Whether it has inserted rows that may not have been sent. */
  #isAhead = false;
  hasWritten = false;

  constructor(shared: SharedStatements) {
    this.#shared = shared;
  }

  async rows(statement: Statement, values: Values): Promise<unknown[][]> {
    const kind = kindOf(statement);
    if (kind === "hold") return this.#shared.hold(statement, values);
    await this.#catchUp();
    return this.#shared.rows(statement, values);
  }

  async run(statement: Statement, values: Values): Promise<number> {
    kindOf(statement);
    this.hasWritten = true;
    await this.#catchUp();
    return this.#shared.run(statement, values);
  }

  async send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Promise<void> {
    kindOf(statement);
    this.hasWritten = true;
    if (!isMergeable(statement)) return this.#shared.send(statement, values, failed);
    this.#isAhead = true;
    this.#shared.insert(statement, values);
  }

  async #catchUp(): Promise<void> {
    if (!this.#isAhead) return;
    this.#isAhead = false;
    await this.#shared.finish();
  }
}

type Kind = "hold" | "read" | "insert";

const kinds = new WeakMap<Statement, Kind>();

/** Errors: NotShareable. */
function kindOf(statement: Statement): Kind {
  let kind = kinds.get(statement);
  if (kind === undefined) {
    const { text } = statement;
    const reads = text.startsWith("select ") && !/ for (no key )?update/.test(text);
    const inserts = text.startsWith("insert into ") && !text.includes(" do update ");
    if (!reads && !inserts) throw new NotShareable(text);
    kind = inserts ? "insert" : text.endsWith(" for key share") ? "hold" : "read";
    kinds.set(statement, kind);
  }
  return kind;
}
