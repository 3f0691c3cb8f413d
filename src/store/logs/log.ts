/**
 * Logs: append-only tables. An entry has a time, an id and the columns of its log. It is never changed, and removed
 * only after all older ones. Entries are read in the order of their times, then of their ids.
 */
import { sql } from "kysely";
import type { Dialect } from "../sql/dialect.ts";
import { type ScalarType, type ScalarValue, stored } from "../sql/indexed-column.ts";
import { compile, memoize, rowCount, type Statement, slot, type Values } from "../sql/statement.ts";

/** A log: its table, and the columns that an entry has in addition to its time and id. */
export interface LogSpec {
  readonly name: string;
  readonly columns: Readonly<Record<string, ScalarType>>;
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
  /** The entry after which to read. */
  readonly after?: Pick<LogEntry, "timeUs" | "id">;
  /** Only entries with this value in a column. */
  readonly where?: { readonly column: string; readonly equals: ScalarValue };
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
  /** Slots `time_us`, `id`, `limit` and, where a column is given, `value`. */
  scan(column: string | undefined): Statement;
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

/** The slots of a scan. */
export function scanValues(spec: LogSpec, { sinceUs = 0, after, where, limit }: LogScan): Values {
  const type = where && spec.columns[where.column];
  if (where !== undefined && type === undefined) throw new Error(`log ${spec.name} has no column ${where.column}`);
  const isLater = after !== undefined && after.timeUs >= sinceUs;
  return {
    time_us: isLater ? after.timeUs : sinceUs,
    id: isLater ? after.id : "",
    limit,
    ...(where && type && { value: stored(type, where.equals) }),
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
  const scan = memoize((column: string | undefined) => {
    const met = column === undefined ? sql`` : sql`${sql.ref(column)} = ${slot("value")} and`;
    return compile(
      query,
      sql`select ${selected} from ${table} where ${met} (time_us, id) > (${slot("time_us")}, ${slot("id")})
        order by time_us, id limit ${rowCount("limit")}`,
    );
  });
  return {
    spec,
    append: compile(
      query,
      query
        .insertInto(spec.name)
        .values(Object.fromEntries(columns.map((name) => [name, slot(name)])))
        .onConflict((conflict) => conflict.doNothing()),
    ),
    find: compile(
      query,
      sql`select ${selected} from ${table} where ${dialect.isIn(sql.ref("id"), "text", slot("ids"))}`,
    ),
    scan: (column) => scan(column ?? "", column),
    forget: compile(
      query,
      sql`delete from ${table} where time_us < ${slot("time_us")} and time_us <=
        (select max(time_us) from (select time_us from ${table} order by time_us, id limit ${rowCount("limit")}) as oldest)`,
    ),
  };
}
