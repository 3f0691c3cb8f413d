/**
 * Counters of rows, so that a total costs a look-up. For every table, ancestor and class, `counters` has a few rows
 * (slots) whose sum is exact. Class `below` counts all descendants of the ancestor, `children` only its children, and
 * `bytes`, for some tables, the bytes of what a root has. The ancestor "" is above all rows. A transaction sums up what
 * it inserts and removes, and writes the sums just before its commit. Each connection writes one slot, so that
 * concurrent transactions do not conflict on the row of a common ancestor.
 */
import { sql } from "kysely";
import { rootOf } from "../../uid.ts";
import type { Dialect } from "../sql/dialect.ts";
import { compileAll, type SqlConnection, type Statement, slot } from "../sql/statement.ts";
import { ancestorsWithRoot } from "../sql/subtree.ts";

/** What a counter counts; `changes` counts transactions that change a watched table. */
export type CounterClass = "below" | "children" | "bytes" | "changes";

const byteCounted: ReadonlySet<string> = new Set([
  "repo_readmes",
  "scim_users",
  "scim_groups",
  "sbom_files",
  "vex_files",
  "vex_statements",
]);

/** Whether the bytes of the rows of a table are counted. */
export function countsBytes(table: string): boolean {
  return byteCounted.has(table);
}

/** The statements on the counters. */
export interface CounterStatements {
  /** The sum of one ancestor. */
  readonly sum: Statement;
  /** The sum of several ancestors, a JSON array. Slower than `sum`: parsing the array dominates the cost. */
  readonly sumMany: Statement;
  /** Slots `slot` and `deltas`, a JSON array of `[ancestor, table, class, delta]`. */
  readonly add: Statement;
  /** Removes those of the counters of the ancestors in slot `ancestors` that are zero. */
  readonly forget: Statement;
}

/** Compiles the statements on the counters. */
export function counterStatements(dialect: Dialect): CounterStatements {
  const { query } = dialect;
  const counted = sql`c.table_name = ${slot("table")} and c.class = ${slot("class")}`;
  const total = sql`select cast(coalesce(sum(c.count), 0) as bigint)`;
  const sum = sql`${total} from counters as c where c.ancestor = ${slot("ancestor")} and ${counted}`;
  const sumMany = sql`${total} from ${dialect.texts(slot("ancestors"))} cross join counters as c
    where c.ancestor = r.value and ${counted}`;
  const add = sql`insert into counters (ancestor, table_name, class, slot, count)
    select r.value ->> 0, r.value ->> 1, r.value ->> 2, cast(${slot("slot")} as bigint), cast(r.value ->> 3 as bigint)
    from ${dialect.elements(slot("deltas"))} where true
    on conflict (ancestor, table_name, class, slot) do update set count = counters.count + excluded.count`;
  const forget = query
    .deleteFrom("counters")
    .where(dialect.isIn(sql.ref("counters.ancestor"), "text", slot("ancestors")))
    .where(
      sql<boolean>`0 = (select sum(o.count) from counters as o where o.ancestor = counters.ancestor
        and o.table_name = counters.table_name and o.class = counters.class)`,
    );
  return compileAll(query, { sum, sumMany, add, forget });
}

/** The counter of transactions that have changed a watched table. */
const watchedTables = ["", "watched", "changes"] as const;

/**
 * What a transaction adds to the counters. Where a group commit has several units of work, each of them has its own.
 */
export class Counters {
  readonly #statements: CounterStatements;
  readonly #shared: Counters | undefined;
  readonly #deltas = new Map<string, { readonly key: readonly [string, string, CounterClass]; delta: number }>();
  readonly #removed = new Set<string>();

  /** @param shared the counters of the group commit, when this is one of several units of work in it. */
  constructor(statements: CounterStatements, shared?: Counters) {
    this.#statements = statements;
    this.#shared = shared;
  }

  /** Counts a row inserted. */
  inserted(table: string, uid: string, parent: string): void {
    this.#count(table, uid, parent, 1);
  }

  /** Counts a row removed. */
  removed(table: string, uid: string, parent: string): void {
    this.#count(table, uid, parent, -1);
    this.#removed.add(uid);
  }

  /** Counts bytes that the rows of a table have more, or less. */
  resized(table: string, uid: string, bytes: number): void {
    this.#add([rootOf(uid), table, "bytes"], bytes);
  }

  /** What the unit of work itself adds to a counter. */
  added(table: string, counterClass: CounterClass, ancestor: string): number {
    return this.#deltas.get(`${ancestor} ${table} ${counterClass}`)?.delta ?? 0;
  }

  /** Counts this transaction as one that changes a watched table. */
  changed(): void {
    this.#deltas.set(watchedTables.join(" "), { key: watchedTables, delta: 1 });
  }

  #count(table: string, uid: string, parent: string, delta: number): void {
    this.#add([parent, table, "children"], delta);
    for (const ancestor of ancestorsWithRoot(uid)) this.#add([ancestor, table, "below"], delta);
  }

  #add(key: readonly [string, string, CounterClass], delta: number): void {
    const name = key.join(" ");
    const entry = this.#deltas.get(name);
    if (entry === undefined) this.#deltas.set(name, { key, delta });
    else entry.delta += delta;
  }

  /** The sum of what is counted but not written yet. */
  pending(table: string, counterClass: CounterClass, ancestors: readonly string[]): number {
    let sum = this.#shared?.pending(table, counterClass, ancestors) ?? 0;
    if (this.#deltas.size === 0) return sum;
    for (const ancestor of ancestors) sum += this.added(table, counterClass, ancestor);
    return sum;
  }

  /** Adds everything to the counters of the group commit; called when the unit of work is done. */
  share(): void {
    const shared = this.#shared;
    if (shared === undefined) return;
    for (const { key, delta } of this.#deltas.values()) shared.#add(key, delta);
    for (const uid of this.#removed) shared.#removed.add(uid);
  }

  /**
   * Writes the sums, in key order to prevent deadlocks between two writers of a slot, and removes the counters of
   * removed rows.
   */
  async write(connection: SqlConnection, counterSlot: number): Promise<void> {
    const deltas = [...this.#deltas.entries()]
      .filter(([, { delta }]) => delta !== 0)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { key, delta }]) => [...key, delta]);
    const { add, forget } = this.#statements;
    if (deltas.length > 0) await connection.send(add, { deltas: JSON.stringify(deltas), slot: counterSlot }, same);
    if (this.#removed.size > 0) await connection.send(forget, { ancestors: JSON.stringify([...this.#removed]) }, same);
  }
}

const same = (error: unknown) => error;
