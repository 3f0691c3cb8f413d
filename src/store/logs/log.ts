/**
 * Logs: append-only tables. An entry has a time, an id and the columns of its log. It is never changed, and removed
 * only after all older ones. Entries are read in the order of their times, then of their ids.
 */
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../sql/dialect.ts";
import { type ScalarType, type ScalarValue, stored } from "../sql/indexed-column.ts";
import {
  compile,
  compileAll,
  derivedSlot,
  memoize,
  rowCount,
  type Statement,
  slot,
  type Values,
} from "../sql/statement.ts";
import { conditionsAt, levelOf, type PlaceColumns, placeTime } from "./places.ts";

/** A log: its table, and the columns that an entry has in addition to its time and id. */
export interface LogSpec {
  readonly name: string;
  readonly columns: Readonly<Record<string, ScalarType>>;
  /** The columns that say where entries belong, of a log with indexes of places. */
  readonly places?: PlaceColumns;
}

/** One entry of a log. */
export interface LogEntry {
  /** Microseconds since 1970. */
  readonly timeUs: number;
  /** Unique; chosen by the caller. */
  readonly id: string;
  /** A missing column is "" or 0. */
  readonly columns: Readonly<Record<string, ScalarValue>>;
}

/** Which entries to read. */
export interface LogScan {
  /** Only entries of this time or later. */
  readonly sinceUs?: number;
  /** Only entries from before this time. */
  readonly untilUs?: number;
  /** The entry after which to read. */
  readonly after?: Pick<LogEntry, "timeUs" | "id">;
  /** Only entries with this value in a column. */
  readonly where?: { readonly column: string; readonly equals: ScalarValue };
  /** Only entries that belong at this uid or below it. Of a deep uid, the entries of an ancestor. */
  readonly at?: string;
  /** By default the oldest entries are read first. */
  readonly newestFirst?: boolean;
  readonly limit: number;
}

/** The statements on one log. */
export interface LogStatements {
  readonly spec: LogSpec;
  /**
   * Slots `time_us`, `id` and the columns. Does nothing when the entry exists: a caller may retry a transaction whose
   * outcome is unknown.
   */
  readonly append: Statement;
  /** Slot `ids`, a JSON array. The log needs an index of its ids. */
  readonly find: Statement;
  /** The statement of a scan, whose slots {@link scanValues} fills. */
  scan(scan: LogScan): Statement;
  /**
   * Slots `time_us` and `limit`: removes the oldest `limit` entries before the time, and those with the same time as
   * the last of them.
   */
  readonly forget: Statement;
}

/** Returns the statements of a log. They are compiled at the first call. */
export function logsOf(dialect: Dialect): (spec: LogSpec) => LogStatements {
  const known = new WeakMap<LogSpec, LogStatements>();
  return (spec) => {
    let statements = known.get(spec);
    if (statements === undefined) {
      statements = logStatements(dialect, spec);
      known.set(spec, statements);
    }
    return statements;
  };
}

/** The slots that append an entry. */
export function appendValues(spec: LogSpec, { timeUs, id, columns }: LogEntry): Values {
  const unknown = Object.keys(columns).find((column) => !Object.hasOwn(spec.columns, column));
  if (unknown !== undefined) throw new Error(`log ${spec.name} has no column ${unknown}`);
  const values: Record<string, unknown> = { time_us: timeUs, id };
  for (const name of Object.keys(spec.columns)) values[name] = stored(spec.columns[name]!, columns[name] ?? null);
  return values;
}

/** The slots of a scan: where it begins, where it ends, how many entries it has, and what it selects. */
export function scanValues(
  spec: LogSpec,
  { sinceUs = 0, untilUs = Number.MAX_SAFE_INTEGER, after, where, at, newestFirst = false, limit }: LogScan,
): Values {
  const type = where && spec.columns[where.column];
  if (where !== undefined && type === undefined) throw new Error(`log ${spec.name} has no column ${where.column}`);
  const end = { timeUs: newestFirst ? untilUs : sinceUs, id: "" };
  const isWithin = after !== undefined && (newestFirst ? after.timeUs < untilUs : after.timeUs >= sinceUs);
  const { timeUs, id } = isWithin ? after : end;
  return {
    time_us: timeUs,
    id,
    low: newestFirst ? sinceUs : timeUs,
    high: newestFirst && isWithin ? timeUs : untilUs - 1,
    limit,
    ...(where && type && { value: stored(type, where.equals) }),
    ...(at !== undefined && { at }),
  };
}

/** Makes an entry of the values that a scan reads. */
export function entryOf(spec: LogSpec, [timeUs, id, ...values]: readonly unknown[]): LogEntry {
  const columns = Object.keys(spec.columns).map((name, i) => [name, values[i]]);
  return { timeUs: timeUs as number, id: id as string, columns: Object.fromEntries(columns) };
}

function logStatements(dialect: Dialect, spec: LogSpec): LogStatements {
  const { query } = dialect;
  const columns = ["time_us", "id", ...Object.keys(spec.columns)];
  const selected = sql.join(columns.map((name) => sql.ref(name)));
  const table = sql.table(spec.name);
  /** The entries that meet a condition, from one on, in an order. */
  const part = (condition: RawBuilder<unknown>, newestFirst: boolean, time: RawBuilder<unknown>) => {
    const [direction, isBehind] = newestFirst ? [sql`desc`, sql`<`] : [sql`asc`, sql`>`];
    const plain = dialect.plain(sql.ref("time_us"), "integer");
    return sql`select ${selected} from ${table} where ${condition} ${time} between ${slot("low")} and ${slot("high")}
      and (${plain}, id) ${isBehind} (${slot("time_us")}, ${slot("id")})
      order by ${time} ${direction}, id ${direction} limit ${rowCount("limit")}`;
  };
  const scan = memoize(({ where, at, newestFirst = false }: LogScan) => {
    const met = where === undefined ? sql`` : sql`${sql.ref(where.column)} = ${slot("value")} and`;
    if (at === undefined) return compile(query, part(met, newestFirst, sql`time_us`));
    if (spec.places === undefined) throw new Error(`log ${spec.name} has no places`);
    const start = (length: number) => derivedSlot("at", (uid: string) => uid.slice(0, length));
    const parts = conditionsAt(spec.places, levelOf(at), start).map(
      (condition, i) =>
        sql`select * from (${part(sql`${met} ${condition} and`, newestFirst, placeTime)}) as ${sql.ref(`p${i}`)}`,
    );
    const direction = newestFirst ? sql`desc` : sql`asc`;
    return compile(
      query,
      sql`${sql.join(parts, sql` union `)} order by time_us ${direction}, id ${direction} limit ${rowCount("limit")}`,
    );
  });
  return {
    spec,
    ...compileAll(query, {
      append: query
        .insertInto(spec.name)
        .values(Object.fromEntries(columns.map((name) => [name, slot(name)])))
        .onConflict((conflict) => conflict.doNothing()),
      find: sql`select ${selected} from ${table} where ${dialect.isIn(sql.ref("id"), "text", slot("ids"))}`,
      forget: sql`delete from ${table} where time_us < ${slot("time_us")} and time_us <=
        (select max(time_us) from (select time_us from ${table} order by time_us, id limit ${rowCount("limit")}) as oldest)`,
    }),
    scan: (scanned) => {
      const { where, at, newestFirst } = scanned;
      return scan(`${where?.column ?? ""} ${at === undefined ? "" : levelOf(at)} ${newestFirst === true}`, scanned);
    },
  };
}
