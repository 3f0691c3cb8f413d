/** Statements: SQL compiled once, with named slots where the values go. */
import { type CompiledQuery, type QueryExecutorProvider, sql } from "kysely";
import type { Eventually } from "../eventually.ts";

/** One compiled statement. Its identity is what a connection keeps its prepared form by. */
export interface Statement {
  readonly text: string;
  /** The names of its parameters, in order. */
  readonly slots: readonly string[];
}

/** Values by the names of the slots they fill. */
export type Values = Readonly<Record<string, unknown>>;

/** Where statements run: one connection, or a pool of them outside any transaction. */
export interface Connection {
  /** The rows a statement reads, each an array of its columns; integers are numbers, bytes are Uint8Array. */
  rows(statement: Statement, values: Values): Eventually<unknown[][]>;
  /** Runs a statement that changes rows; how many it changed. */
  run(statement: Statement, values: Values): Eventually<number>;
}

class Slot {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** The place of a value in a query that is to be compiled. */
export function slot(name: string) {
  return sql.val(new Slot(name));
}

/** The place of a number of rows behind LIMIT or OFFSET. SQLite prepares a statement anew for each value of a bare parameter there. */
export function rowCount(name: string) {
  return sql`cast(${slot(name)} as bigint)`;
}

/** Compiles a query whose values are all slots, for the database that `builder` writes for. */
export function compile(
  builder: QueryExecutorProvider,
  query: { compile(builder: QueryExecutorProvider): CompiledQuery },
): Statement {
  const { sql: text, parameters } = query.compile(builder);
  if (/\b(limit|offset) [?$]/.test(text)) throw new Error(`a parameter stands bare behind LIMIT: ${text}`);
  const slots = parameters.map((parameter) => {
    if (!(parameter instanceof Slot)) throw new Error(`a value is not a slot: ${text}`);
    return parameter.name;
  });
  return { text, slots };
}

/** The parameters of a statement, in its order. */
export function parametersOf(statement: Statement, values: Values): unknown[] {
  return statement.slots.map((name) => values[name]);
}

/** Distinct shapes of one table kept compiled. More come only from unusual orders; then all are compiled anew. */
const maxShapes = 500;

/** Keeps what `build` made for a key. */
export function memoize<K, V>(build: (key: K) => V): (name: string, key: K) => V {
  const made = new Map<string, V>();
  return (name, key) => {
    let value = made.get(name);
    if (value === undefined) {
      if (made.size >= maxShapes) made.clear();
      value = build(key);
      made.set(name, value);
    }
    return value;
  };
}
