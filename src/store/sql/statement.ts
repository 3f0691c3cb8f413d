/** Statements: SQL that is compiled once, with named slots for values. */
import { type CompiledQuery, type QueryExecutorProvider, sql } from "kysely";
import type { Awaitable } from "../../awaitable.ts";

/** A compiled statement. A connection caches its prepared form by the identity of this object. */
export interface Statement {
  readonly text: string;
  /** The slots of its parameters, in order. */
  readonly slots: readonly string[];
  /** What makes a parameter of the value in its slot, for each of them. Absent where all are the values themselves. */
  readonly derived?: readonly (Derive | undefined)[];
}

/** Makes a parameter of the value in a slot. */
// biome-ignore lint/suspicious/noExplicitAny: a slot has values of one type, known only by its name
export type Derive = (value: any) => unknown;

/** Values by the names of the slots they fill. */
export type Values = Readonly<Record<string, unknown>>;

/** Runs statements: on one connection, or on any connection of a pool outside transactions. */
export interface SqlConnection {
  /**
   * Runs a statement and returns its rows, each an array of its columns. Integers are numbers, bytes are Uint8Array.
   */
  rows(statement: Statement, values: Values): Awaitable<unknown[][]>;
  /** Runs a statement and returns how many rows it changed. */
  run(statement: Statement, values: Values): Awaitable<number>;
  /**
   * Runs a statement whose result is not needed. Where the database is another process, this does not wait for it: when
   * the statement fails, so do the next one and the transaction, with what `failed` makes of the error.
   */
  send(statement: Statement, values: Values, failed: (error: unknown) => unknown): Awaitable<void>;
}

class Slot {
  readonly name: string;
  readonly derive: Derive | undefined;

  constructor(name: string, derive?: Derive) {
    this.name = name;
    this.derive = derive;
  }
}

/** A named slot for a value in a query that is to be compiled. */
export function slot(name: string) {
  return sql.val(new Slot(name));
}

/** A parameter that is made of the value in a named slot. */
export function derivedSlot(name: string, derive: Derive) {
  return sql.val(new Slot(name, derive));
}

/** A slot for LIMIT or OFFSET. The cast keeps SQLite from preparing the statement again for each value. */
export function rowCount(name: string) {
  return sql`cast(${slot(name)} as bigint)`;
}

/** Compiles a query for the database of `builder`. All values in it must be slots. */
export function compile(
  builder: QueryExecutorProvider,
  query: { compile(builder: QueryExecutorProvider): CompiledQuery },
): Statement {
  const { sql: text, parameters } = query.compile(builder);
  if (/\b(limit|offset) [?$]/.test(text)) throw new Error(`LIMIT or OFFSET without rowCount(): ${text}`);
  const slots = parameters.map((parameter) => {
    if (!(parameter instanceof Slot)) throw new Error(`a value is not a slot: ${text}`);
    return parameter;
  });
  const names = slots.map(({ name }) => name);
  const derived = slots.map(({ derive }) => derive);
  return { text, slots: names, ...(derived.some((derive) => derive !== undefined) && { derived }) };
}

/** What can be compiled: SQL, or a query of the builder. */
type Query = Parameters<typeof compile>[1];

/** Compiles several queries by name. */
export function compileAll<N extends string>(
  builder: QueryExecutorProvider,
  queries: Readonly<Record<N, Query>>,
): Record<N, Statement> {
  const compiled = Object.entries<Query>(queries).map(([name, query]) => [name, compile(builder, query)]);
  return Object.fromEntries(compiled);
}

/** The parameters of a statement, in order. */
export function parametersOf({ slots, derived }: Statement, values: Values): unknown[] {
  if (derived === undefined) return slots.map((name) => values[name]);
  return slots.map((name, i) => {
    const derive = derived[i];
    return derive === undefined ? values[name] : derive(values[name]);
  });
}

/**
 * How many values one cache keeps. A table has more shapes of statements only with unusual orders. The cache is then
 * emptied.
 */
const maxShapes = 500;

/** Caches what `build` makes of a key under a name. */
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
