/** What sessions do with queues: entries are added and made due in transactions, and read by partition. */
import { sql } from "kysely";
import type { Dialect } from "../sql/dialect.ts";
import { stored } from "../sql/indexed-column.ts";
import { compile, compileAll, memoize, rowCount, type Statement, slot, type Values } from "../sql/statement.ts";
import {
  columnsOfEntry,
  integer,
  type NewQueueEntry,
  partitionColumn,
  partitionOf,
  type QueueEntry,
  type QueueKey,
  type QueueState,
  queueStates,
} from "./queue-entry.ts";

/** Which entries of one partition to read. */
export interface PartitionScan {
  readonly partition: string;
  readonly states: readonly QueueState[];
  /** Only entries of this time or later. */
  readonly sinceUs?: number | undefined;
  /** Only entries from before this time. */
  readonly untilUs?: number | undefined;
  /** The entry behind which to read. */
  readonly after?: Pick<QueueEntry, "timeUs" | "id"> | undefined;
  /** By default the newest entries are read first. */
  readonly oldestFirst?: boolean;
  readonly limit: number;
}

/** The statements of sessions on a queue. */
export interface QueueStatements {
  /** Slot `entries`; see {@link addValues}. */
  readonly add: Statement;
  /** Slots of {@link requeueValues}. */
  readonly requeue: Statement;
  /** Slots `partition` and `limit`. */
  readonly removePending: Statement;
  /** Slots `partition` and `id`. */
  readonly find: Statement;
  /** Slots of {@link partitionValues}. */
  scan(scan: Pick<PartitionScan, "states" | "oldestFirst">): Statement;
  /** The number of entries that `scan` reads, newest first, with the same slots. */
  count(states: readonly QueueState[]): Statement;
}

/** The slots that add entries. */
export function addValues(entries: readonly NewQueueEntry[]): Values {
  const rows = entries.map(({ partition, id, timeUs, expireUs }) => [
    stored("text", partition),
    stored("text", id),
    timeUs,
    expireUs,
  ]);
  return { entries: JSON.stringify(rows) };
}

/** The slots that make entries due. */
export function requeueValues(keys: readonly QueueKey[], nowUs: number, expireUs: number): Values {
  const pairs = keys.map(({ partition, id }) => [partition, id]);
  return { keys: JSON.stringify(pairs), now_us: nowUs, expire_us: expireUs };
}

/** The slots of a scan. */
export function partitionValues({
  partition,
  sinceUs = 0,
  untilUs = Number.MAX_SAFE_INTEGER,
  after,
  oldestFirst = false,
  limit,
}: PartitionScan): Values {
  const end = { timeUs: oldestFirst ? sinceUs : untilUs, id: "" };
  const isWithin = after !== undefined && (oldestFirst ? after.timeUs >= sinceUs : after.timeUs < untilUs);
  const { timeUs, id } = isWithin ? after : end;
  return { partition, since_us: sinceUs, until_us: untilUs, time_us: timeUs, id, limit };
}

/** Returns the statements of a queue. They are compiled at the first call. */
export function queuesOf(dialect: Dialect): (name: string) => QueueStatements {
  const known = memoize((name: string) => queueStatements(dialect, name));
  return (name) => known(name, name);
}

/** The statements on the queue of this name. */
export function queueStatements(dialect: Dialect, name: string): QueueStatements {
  const { query } = dialect;
  const table = sql.table(name);
  const partition = sql.ref(partitionColumn);
  /** One range of an index for each state. */
  const scan = ({ states, oldestFirst = false }: Pick<PartitionScan, "states" | "oldestFirst">) => {
    const [direction, isBehind, bound] = oldestFirst
      ? [sql`asc`, sql`>`, sql`q.time_us < ${slot("until_us")}`]
      : [sql`desc`, sql`<`, sql`q.time_us >= ${slot("since_us")}`];
    const parts = states.map(
      (state, i) =>
        sql`select * from (select ${columnsOfEntry("q")} from ${table} as q
          where ${partitionOf("q")} = ${slot("partition")} and q.state = ${sql.lit(queueStates.indexOf(state))}
            and ${bound} and (q.time_us, q.id) ${isBehind} (${slot("time_us")}, ${slot("id")})
          order by q.time_us ${direction}, q.id ${direction} limit ${rowCount("limit")}) as ${sql.ref(`p${i}`)}`,
    );
    return sql`${sql.join(parts, sql` union all `)} order by time_us ${direction}, id ${direction} limit ${rowCount("limit")}`;
  };
  const scans = memoize((scanned: Pick<PartitionScan, "states" | "oldestFirst">) => compile(query, scan(scanned)));
  const counts = memoize((states: readonly QueueState[]) =>
    compile(query, sql`select count(*) from (${scan({ states })}) as entries`),
  );
  return {
    ...compileAll(query, {
      add: sql`insert into ${table} (${partition}, id, state, time_us, due_us, expire_us, attempts, tried_us, result)
        select r.value ->> 0, r.value ->> 1, 0, ${integer(2)}, ${integer(2)}, ${integer(3)}, 0, 0, ''
        from ${dialect.elements(slot("entries"))} where true
        on conflict (${partition}, id) do nothing`,
      requeue: sql`update ${table} as q set state = 0, due_us = ${slot("now_us")}, expire_us = ${slot("expire_us")}, attempts = 0
        from ${dialect.elements(slot("keys"))} where ${partitionOf("q")} = r.value ->> 0 and q.id = r.value ->> 1`,
      removePending: sql`delete from ${table} where (${partition}, id) in
        (select ${partition}, id from ${table} where state = 0 and ${partition} = ${slot("partition")} order by due_us limit ${rowCount("limit")})`,
      find: sql`select ${columnsOfEntry("q")} from ${table} as q where ${partitionOf("q")} = ${slot("partition")} and q.id = ${slot("id")}`,
    }),
    scan: (scanned) => scans(`${scanned.states.join()} ${scanned.oldestFirst === true}`, scanned),
    count: (states) => counts(states.join(), states),
  };
}
