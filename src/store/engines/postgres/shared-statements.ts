/** The statements of transactions that share one of the database. */
import { parametersOf, type SqlConnection, type Statement, type Values } from "../../sql/statement.ts";
import { isMergeable, merged } from "./merged-inserts.ts";

/** A statement that excludes other transactions, or changes what they rely on. Its transaction must run alone. */
export class NotShareable extends Error {
  override readonly name = "NotShareable";
}

/** The statements of all of them: inserts are merged and sent together, a row is held once. */
export class SharedStatements {
  readonly connection: SqlConnection;
  readonly #inserts = new Map<Statement, Values[]>();
  readonly #holds = new Map<string, Promise<unknown[][]>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(connection: SqlConnection) {
    this.connection = connection;
  }

  /** Adds a row when `send` is called. */
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
      held = Promise.resolve(this.connection.rows(statement, values));
      this.#holds.set(key, held);
    }
    return held;
  }

  /** Makes `send` fail. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Sends the inserts so far. */
  async send(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const inserts = [...this.#inserts].flatMap(([statement, rows]) => merged(statement, rows));
    this.#inserts.clear();
    for (const { statement, values } of inserts) await this.connection.send(statement, values, (error) => error);
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
    return this.#shared.connection.rows(statement, values);
  }

  async run(statement: Statement, values: Values): Promise<number> {
    kindOf(statement);
    this.hasWritten = true;
    await this.#catchUp();
    return this.#shared.connection.run(statement, values);
  }

  async send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Promise<void> {
    kindOf(statement);
    this.hasWritten = true;
    if (!isMergeable(statement)) return this.#shared.connection.send(statement, values, failed);
    this.#isAhead = true;
    this.#shared.insert(statement, values);
  }

  async #catchUp(): Promise<void> {
    if (!this.#isAhead) return;
    this.#isAhead = false;
    await this.#shared.send();
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
