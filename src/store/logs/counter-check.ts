/**
 * Compares the counters of rows with the rows. A transaction changes both, so the difference that one statement finds
 * is an error, whatever else commits meanwhile; adding it to the counters corrects them.
 */
import { sql } from "kysely";
import type { Dialect } from "../sql/dialect.ts";
import { compile, rowCount, type SqlConnection } from "../sql/statement.ts";
import { countsBytes } from "./counters.ts";

/** A counter that differs from the rows that it counts. */
export interface CounterFault {
  readonly table: string;
  /** The uid that the rows are below; "" is above all rows. */
  readonly ancestor: string;
  /** Whether it counts all rows below, only children, or the bytes of all rows below. */
  readonly class: "below" | "children" | "bytes";
  readonly rows: number;
  readonly counted: number;
}

/** How many faults of a table are listed. */
const maxFaults = 1000;
/** The slot of the counters that corrections are added to. Any slot counts. */
const correctedSlot = 0;

/** The faults of the counters of tables, at most 1000 of each table. */
export async function findCounterFaults(
  dialect: Dialect,
  connection: SqlConnection,
  tables: readonly string[],
): Promise<readonly CounterFault[]> {
  const faults: CounterFault[] = [];
  for (const table of tables) {
    const statement = compile(
      dialect.query,
      sql`${differences(table)} order by ancestor, class limit ${rowCount("limit")}`,
    );
    for (const [ancestor, counterClass, rows, counted] of await connection.rows(statement, { limit: maxFaults }))
      faults.push({ table, ancestor, class: counterClass, rows, counted } as CounterFault);
  }
  return faults;
}

/** Corrects the counters of tables, and returns how many were wrong. */
export async function correctCounters(
  dialect: Dialect,
  connection: SqlConnection,
  tables: readonly string[],
): Promise<number> {
  let corrected = 0;
  for (const table of tables) {
    // In the order of keys, as transactions write counters, to prevent deadlocks.
    const correct = sql`insert into counters (ancestor, table_name, class, slot, count)
      select d.ancestor, ${sql.lit(table)}, d.class, ${sql.lit(correctedSlot)}, d.n - d.counted
      from (${differences(table)}) as d where true order by d.ancestor, d.class
      on conflict (ancestor, table_name, class, slot) do update set count = counters.count + excluded.count`;
    corrected += await connection.run(compile(dialect.query, correct), {});
  }
  return corrected;
}

/** A SELECT of `ancestor`, `class`, `n` and `counted` of each counter of a table that is wrong. */
function differences(table: string) {
  // What remains of a uid without its last part, on every database.
  const above = sql`rtrim(rtrim(ancestor, replace(ancestor, '/', '')), '/')`;
  const bytes = countsBytes(table)
    ? sql`union all select substr(uid, 1, 40), 'bytes', length(packed), 0 from ${sql.table(table)}`
    : sql``;
  return sql`with recursive direct(ancestor, n) as (
      select parent, count(*) from ${sql.table(table)} group by parent
    ), up(ancestor, n) as (
      select ancestor, n from direct union all select ${above}, n from up where ancestor <> ''
    ), counts(ancestor, class, n, counted) as (
      select ancestor, 'children', n, 0 from direct
      union all select ancestor, 'below', n, 0 from up
      ${bytes}
      union all select ancestor, class, 0, count from counters
        where table_name = ${sql.lit(table)} and class in ('below', 'children', 'bytes')
    )
    select ancestor, class, cast(sum(n) as bigint) as n, cast(sum(counted) as bigint) as counted
    from counts group by ancestor, class having sum(n) <> sum(counted)`;
}
