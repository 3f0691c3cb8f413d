/**
 * Queues: entries that become due, in partitions.
 *
 * An entry is pending, done or dead. A pending entry that is due can be leased. It becomes due again when the lease
 * expires, so only one process has it at a time, and the entries of a process that dies are leased again. The holder of
 * the lease settles the entry. A settlement has no effect once the lease has expired and another process has leased the
 * entry. Settled entries remain readable until they are forgotten.
 *
 * The length of a partition does not slow down others. A skip scan of the index of pending entries finds the partitions
 * that are due, and entries are leased from one partition at a time.
 *
 * Each call is one statement in its own transaction. A session writes what must be atomic with other changes. On
 * PostgreSQL these transactions are READ COMMITTED and do not conflict with SERIALIZABLE ones.
 */

import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../sql/dialect.ts";
import { stored } from "../sql/indexed-column.ts";
import { compileAll, rowCount, type SqlConnection, type Statement, slot, type Values } from "../sql/statement.ts";
import {
  columnsOfEntry,
  entryOf,
  integer,
  type NewQueueEntry,
  partitionColumn,
  partitionOf,
  type QueueEntry,
  type QueueKey,
  type QueuePlace,
  type QueueState,
  queueStates,
} from "./queue-entry.ts";
import { addValues, queueStatements, requeueValues } from "./queue-session.ts";

/** The outcome of a leased entry. */
export interface Settlement
  extends QueueKey,
    Pick<QueueEntry, "state" | "dueUs" | "attempts" | "triedUs" | "result" | "history"> {
  /** The `dueUs` of the entry when it was leased. */
  readonly leaseUs: number;
}

/** Which entries of one partition to lease. */
export interface LeaseRequest {
  readonly partition: string;
  readonly nowUs: number;
  /** When the lease expires. */
  readonly untilUs: number;
  readonly limit: number;
}

/** Which entries of one partition have had no attempt, and belong to one holder. */
export interface UntriedRequest extends LeaseRequest {
  /** Only entries of this time or earlier. */
  readonly upToUs: number;
}

/** Which entries of a state to read. */
export interface QueueScan {
  /** The entry behind which to read. */
  readonly after?: QueuePlace | undefined;
  /** Only entries of this time or later. */
  readonly sinceUs?: number;
  /** By default the oldest entries are read first. */
  readonly newestFirst?: boolean;
  readonly limit: number;
}

/** What a queue needs from an open database. */
interface QueueDatabase {
  readonly dialect: Dialect;
  readonly reader: SqlConnection;
  /** Runs one writing statement in its own transaction. */
  autocommit<T>(body: (connection: SqlConnection) => T | Promise<T>): Promise<T>;
}

/** A queue of a database. */
export type Queue = ReturnType<typeof createQueue>;

/** The queue of an open database. */
export function createQueue(database: QueueDatabase, name: string) {
  const { dialect } = database;
  const statements = { ...queueStatements(dialect, name), ...ownStatements(dialect, name) };
  const run = (statement: Statement, values: Values) =>
    database.autocommit((connection) => connection.run(statement, values));
  return {
    /** Adds those of the entries that it does not have. Returns how many. */
    add: async (entries: readonly NewQueueEntry[]): Promise<number> =>
      entries.length === 0 ? 0 : run(statements.add, addValues(entries)),
    /** The partitions with pending entries that are due, in the order of their names. */
    async duePartitions(nowUs: number): Promise<string[]> {
      const rows = await database.reader.rows(statements.duePartitions, { now_us: nowUs });
      return rows.map(([partition]) => partition as string);
    },
    /** Leases the entries of a partition that have been due longest. */
    async lease({ partition, nowUs, untilUs, limit }: LeaseRequest): Promise<QueueEntry[]> {
      const values = { partition, now_us: nowUs, until_us: untilUs, limit };
      return (await database.autocommit((connection) => connection.rows(statements.lease, values))).map(entryOf);
    },
    /**
     * Leases the oldest entries of a partition that have had no attempt, in the order of their times. None while one of
     * them is leased: its holder goes first.
     */
    async leaseUntried({ partition, nowUs, untilUs, upToUs, limit }: UntriedRequest): Promise<QueueEntry[]> {
      const values = { partition, now_us: nowUs, until_us: untilUs, up_to_us: upToUs, limit };
      const rows = await database.autocommit((connection) => connection.rows(statements.leaseUntried, values));
      return rows.map(entryOf).sort((a, b) => a.timeUs - b.timeUs || (a.id < b.id ? -1 : 1));
    },
    /** Whether a partition has pending entries without an attempt, of this time or earlier. */
    async hasUntried(partition: string, upToUs: number): Promise<boolean> {
      const rows = await database.reader.rows(statements.hasUntried, { partition, up_to_us: upToUs });
      return rows.length > 0;
    },
    /** Settles those of the entries whose lease is still the same. Returns how many. */
    settle: async (settlements: readonly Settlement[]): Promise<number> =>
      settlements.length === 0 ? 0 : run(statements.settle, { settlements: JSON.stringify(settlements.map(settled)) }),
    /** Makes entries of any state pending and due now, with no attempts. Returns how many exist. */
    requeue: (keys: readonly QueueKey[], nowUs: number, expireUs: number): Promise<number> =>
      run(statements.requeue, requeueValues(keys, nowUs, expireUs)),
    /** Removes entries of a partition, in any state. Returns how many existed. */
    remove: (partition: string, ids: readonly string[]): Promise<number> =>
      run(statements.remove, { partition, ids: JSON.stringify(ids) }),
    /** Removes at most `limit` pending entries of a partition. Returns how many. */
    removePending: (partition: string, limit: number): Promise<number> =>
      run(statements.removePending, { partition, limit }),
    /** Makes at most `limit` entries of a partition dead that are due and have expired. Returns how many. */
    expire: (partition: string, nowUs: number, limit: number): Promise<number> =>
      run(statements.expire, { partition, now_us: nowUs, limit }),
    /** Removes at most `limit` entries of each state whose time is before `beforeUs`. Returns how many. */
    async forget(beforeUs: number, limit: number): Promise<number> {
      let removed = 0;
      for (const state of queueStates.keys())
        removed += await run(statements.forget, { before_us: beforeUs, limit, state });
      return removed;
    },
    /** The next entries of a state. */
    async entries(
      state: QueueState,
      { after, sinceUs = 0, newestFirst = false, limit }: QueueScan,
    ): Promise<QueueEntry[]> {
      const start = { timeUs: newestFirst ? Number.MAX_SAFE_INTEGER : sinceUs, id: "", partition: "" };
      const { timeUs, id, partition } = after ?? start;
      const values = { state: queueStates.indexOf(state), time_us: timeUs, id, partition, since_us: sinceUs, limit };
      const statement = newestFirst ? statements.latestEntries : statements.entries;
      return (await database.reader.rows(statement, values)).map(entryOf);
    },
    /** The entries with this id and time, in any state, by partition. */
    async entriesOf(id: string, timeUs: number): Promise<QueueEntry[]> {
      return (await database.reader.rows(statements.entriesOf, { id, time_us: timeUs })).map(entryOf);
    },
    /** The time of the oldest pending entry of each partition that has one, in the order of their names. */
    async oldestPending(): Promise<{ partition: string; timeUs: number }[]> {
      const rows = await database.reader.rows(statements.oldestPending, {});
      return rows.map(([partition, timeUs]) => ({ partition: partition as string, timeUs: timeUs as number }));
    },
    /** The number of entries in a state by partition, for partitions that have any. */
    async depths(state: QueueState): Promise<{ partition: string; count: number }[]> {
      const rows = await database.reader.rows(statements.depths, { state: queueStates.indexOf(state) });
      return rows.map(([partition, count]) => ({ partition: partition as string, count: count as number }));
    },
  };
}

function ownStatements(dialect: Dialect, name: string) {
  const { query } = dialect;
  const table = sql.table(name);
  const partition = sql.ref(partitionColumn);
  const nextPartition = (above: RawBuilder<unknown>) =>
    sql`(select ${partition} from ${table} where state = 0 and ${above} order by ${partition} limit 1)`;
  /** The partitions with pending entries, by a skip scan. */
  const partitions = sql`with recursive partitions (name) as (
    select ${nextPartition(sql`${partition} >= ''`)}
    union all
    select ${nextPartition(sql`${partition} > partitions.name`)} from partitions where partitions.name is not null
  )`;
  const isUntried = sql`${partition} = ${slot("partition")} and state = 0 and time_us <= ${slot("up_to_us")} and attempts = 0`;
  return compileAll(query, {
    duePartitions: sql`${partitions} select name from partitions where name is not null and
          (select min(due_us) from ${table} as q where q.state = 0 and ${partitionOf("q")} = partitions.name) <= ${slot("now_us")}`,
    lease: sql`with due as materialized (
          select ${partition}, id from ${table}
          where state = 0 and ${partition} = ${slot("partition")} and due_us <= ${slot("now_us")}
          order by due_us, id limit ${rowCount("limit")} ${dialect.skipLocked}
        )
        update ${table} set due_us = ${slot("until_us")} from due
        where ${partitionOf(name)} = ${partitionOf("due")} and ${table}.id = due.id returning ${columnsOfEntry(name)}`,
    leaseUntried: sql`with untried as materialized (
          select ${partition}, id, due_us from ${table} where ${isUntried}
          order by time_us, id limit ${rowCount("limit")} ${dialect.locks.change}
        )
        update ${table} set due_us = ${slot("until_us")} from untried
        where ${partitionOf(name)} = ${partitionOf("untried")} and ${table}.id = untried.id
          and not exists (select 1 from untried as leased where leased.due_us > ${slot("now_us")})
        returning ${columnsOfEntry(name)}`,
    hasUntried: sql`select 1 from ${table} where ${isUntried} limit 1`,
    settle: sql`update ${table} as q set state = ${integer(3)}, due_us = ${integer(4)}, attempts = ${integer(5)},
          tried_us = ${integer(6)}, result = r.value ->> 7, history = r.value ->> 8
        from ${dialect.elements(slot("settlements"))}
        where ${partitionOf("q")} = r.value ->> 0 and q.id = r.value ->> 1
          and ${dialect.plain(sql.ref("q.state"), "integer")} = 0 and ${dialect.plain(sql.ref("q.due_us"), "integer")} = ${integer(2)}`,
    remove: sql`delete from ${table} where ${partition} = ${slot("partition")} and ${dialect.isIn(sql.ref("id"), "text", slot("ids"))}`,
    expire: sql`update ${table} set state = 2 where (${partition}, id) in
        (select ${partition}, id from ${table} where state = 0 and ${partition} = ${slot("partition")} and due_us <= ${slot("now_us")}
          and expire_us <= ${slot("now_us")} order by due_us limit ${rowCount("limit")})`,
    forget: sql`delete from ${table} where (${partition}, id) in
        (select ${partition}, id from ${table} where state = ${slot("state")} and time_us < ${slot("before_us")}
          order by time_us limit ${rowCount("limit")})`,
    entries: sql`select ${columnsOfEntry("q")} from ${table} as q
        where q.state = ${slot("state")} and (q.time_us, q.id, ${partitionOf("q")}) > (${slot("time_us")}, ${slot("id")}, ${slot("partition")})
        order by q.time_us, q.id, ${partitionOf("q")} limit ${rowCount("limit")}`,
    latestEntries: sql`select ${columnsOfEntry("q")} from ${table} as q
        where q.state = ${slot("state")} and q.time_us >= ${slot("since_us")}
          and (q.time_us, q.id, ${partitionOf("q")}) < (${slot("time_us")}, ${slot("id")}, ${slot("partition")})
        order by q.time_us desc, q.id desc, ${partitionOf("q")} desc limit ${rowCount("limit")}`,
    entriesOf: sql`select ${columnsOfEntry("q")} from ${table} as q
        where q.state in (0, 1, 2) and q.time_us = ${slot("time_us")} and q.id = ${slot("id")} order by ${partitionOf("q")}`,
    oldestPending: sql`${partitions}
        select name, (select min(time_us) from ${table} as q where ${partitionOf("q")} = partitions.name and q.state = 0)
        from partitions where name is not null`,
    depths: sql`select ${partition}, count(*) from ${table} where state = ${slot("state")} group by ${partition} order by ${partition}`,
  });
}

function settled({ partition, id, leaseUs, state, dueUs, attempts, triedUs, ...texts }: Settlement): unknown[] {
  const [result, history] = [stored("text", texts.result), stored("text", texts.history)];
  return [partition, id, leaseUs, queueStates.indexOf(state), dueUs, attempts, triedUs, result, history];
}
