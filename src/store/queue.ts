/**
 * Queues: work that waits for its time, in lanes.
 *
 * An entry is pending, done or dead. A pending one that is due can be leased: it becomes due again only when the lease runs out, so that of several
 * processes one has it, and what a process has when it dies comes back. Whoever holds the lease settles the entry; a lease that has run out and was
 * taken by another settles nothing. Settled entries stay to be seen, until they are forgotten.
 *
 * A lane costs others nothing, however long it is: lanes are found by leaping from one to the next in the index of what is pending, and entries are
 * leased from one lane at a time.
 *
 * Each call is one statement and a transaction of its own; what must go with a change is written by its session. On PostgreSQL these transactions
 * are not SERIALIZABLE: they take no part in the conflicts of those that are.
 */
import { type RawBuilder, sql } from "kysely";
import type { Dialect, Engine } from "./dialect/dialect.ts";
import { stored } from "./facet.ts";
import { compile, memoize, rowCount, type Statement, slot, type Values } from "./statement.ts";

/** What an entry is known by. */
export interface QueueKey {
  readonly lane: string;
  /** Unique in its lane. */
  readonly id: string;
}

/** Where an entry is. */
export type QueueState = "pending" | "done" | "dead";

/** One entry. Times are in microseconds since 1970. */
export interface QueueEntry extends QueueKey {
  readonly state: QueueState;
  /** The time that it was given when it was added. */
  readonly timeUs: number;
  /** When it can be leased; of one that is leased, when its lease runs out. */
  readonly dueUs: number;
  /** When whoever works on it should give it up. */
  readonly expireUs: number;
  readonly attempts: number;
  /** When it was last tried; 0 for never. */
  readonly triedUs: number;
  /** What came of that. */
  readonly result: string;
}

/** An entry on its way into a queue; it is due at once. */
export type NewQueueEntry = QueueKey & Pick<QueueEntry, "timeUs" | "expireUs">;

/** What has become of a leased entry. */
export interface Settlement extends QueueKey, Pick<QueueEntry, "state" | "dueUs" | "attempts" | "triedUs" | "result"> {
  /** `dueUs` of the entry as it was leased. */
  readonly leaseUs: number;
}

/** Which entries of one lane to lease. */
export interface LeaseRequest {
  readonly lane: string;
  readonly nowUs: number;
  /** When the lease runs out. */
  readonly untilUs: number;
  readonly limit: number;
}

/** The place of an entry among those of its state: by time, then id, then lane. */
export type QueuePlace = QueueKey & Pick<QueueEntry, "timeUs">;

/** Which of the latest entries to read. */
export interface QueueScan {
  /** Only those before this place; the newest of all unless told. */
  readonly before?: QueuePlace | undefined;
  readonly sinceUs: number;
  readonly limit: number;
}

/** A queue of a database. */
export interface Queue {
  /** Adds what is not there yet; how many. */
  add(entries: readonly NewQueueEntry[]): Promise<number>;
  /** The lanes that have pending entries which are due, in the order of their names. */
  dueLanes(nowUs: number): Promise<string[]>;
  /** Takes the entries of a lane that have been due longest. */
  lease(request: LeaseRequest): Promise<QueueEntry[]>;
  /** Settles what is still leased as it was; how many. */
  settle(settlements: readonly Settlement[]): Promise<number>;
  /** Makes entries of any state pending and due at once, as if never tried; how many there were. */
  requeue(keys: readonly QueueKey[], nowUs: number, expireUs: number): Promise<number>;
  /** Removes entries of one lane, of any state; how many there were. */
  remove(lane: string, ids: readonly string[]): Promise<number>;
  /** Removes some pending entries of a lane; how many. */
  removePending(lane: string, limit: number): Promise<number>;
  /** Gives up some entries of a lane that are due and have expired; how many. */
  expire(lane: string, nowUs: number, limit: number): Promise<number>;
  /** Removes some settled entries whose time is before `beforeUs`; how many. */
  forget(beforeUs: number, limit: number): Promise<number>;
  /** The next entries of a state, oldest first. */
  entries(state: QueueState, scan: { after: QueuePlace; limit: number }): Promise<QueueEntry[]>;
  /** The next entries of a state that are not older than `sinceUs`, newest first. */
  latestEntries(state: QueueState, scan: QueueScan): Promise<QueueEntry[]>;
  /** The entries with one id and one time, of any state, by lane. */
  entriesOf(id: string, timeUs: number): Promise<QueueEntry[]>;
  /** How many entries a state has, and the time of the oldest. */
  depth(state: QueueState): Promise<{ count: number; oldestUs: number | undefined }>;
  /** How many entries of a state each lane has that has any. */
  depths(state: QueueState): Promise<{ lane: string; count: number }[]>;
}

/** The statements on one queue that a session runs too. */
export interface QueueStatements {
  /** Slot `entries`: a JSON array of what {@link addValues} makes. */
  readonly add: Statement;
  /** Slots `lane` and `limit`. */
  readonly removePending: Statement;
}

/** Behind every entry. */
const end: QueuePlace = { timeUs: Number.MAX_SAFE_INTEGER, id: "", lane: "" };

const states: readonly QueueState[] = ["pending", "done", "dead"];
const columns = ["lane", "id", "state", "time_us", "due_us", "expire_us", "attempts", "tried_us", "result"] as const;

/** The values that add entries. */
export function addValues(entries: readonly NewQueueEntry[]): Values {
  const rows = entries.map(({ lane, id, timeUs, expireUs }) => [
    stored("text", lane),
    stored("text", id),
    timeUs,
    expireUs,
  ]);
  return { entries: JSON.stringify(rows) };
}

function queueStatements(dialect: Dialect, name: string): QueueStatements {
  const { query } = dialect;
  const table = sql.table(name);
  return {
    add: compile(
      query,
      sql`insert into ${table} (lane, id, state, time_us, due_us, expire_us, attempts, tried_us, result)
        select r.value ->> 0, r.value ->> 1, 0, ${integer(2)}, ${integer(2)}, ${integer(3)}, 0, 0, ''
        from ${dialect.elements(slot("entries"))} where true
        on conflict (lane, id) do nothing`,
    ),
    removePending: compile(
      query,
      sql`delete from ${table} where (lane, id) in
        (select lane, id from ${table} where state = 0 and lane = ${slot("lane")} order by due_us limit ${rowCount("limit")})`,
    ),
  };
}

/** Finds the statements of a queue; compiles them at the first call. */
export function queuesOf(dialect: Dialect): (name: string) => QueueStatements {
  const known = memoize((name: string) => queueStatements(dialect, name));
  return (name) => known(name, name);
}

/** A queue of an open database. */
export function createQueue(engine: Engine, name: string): Queue {
  const { dialect } = engine;
  const statements = { ...queueStatements(dialect, name), ...ownStatements(dialect, name) };
  const run = (statement: Statement, values: Values) => engine.alone((connection) => connection.run(statement, values));
  return {
    add: async (entries) => (entries.length === 0 ? 0 : run(statements.add, addValues(entries))),
    async dueLanes(nowUs) {
      const rows = await engine.reader.rows(statements.dueLanes, { now_us: nowUs });
      return rows.map(([lane]) => lane as string);
    },
    async lease({ lane, nowUs, untilUs, limit }) {
      const values = { lane, now_us: nowUs, until_us: untilUs, limit };
      return (await engine.alone((connection) => connection.rows(statements.lease, values))).map(entryOf);
    },
    settle: async (settlements) =>
      settlements.length === 0 ? 0 : run(statements.settle, { settlements: JSON.stringify(settlements.map(settled)) }),
    requeue: (keys, nowUs, expireUs) =>
      run(statements.requeue, {
        keys: JSON.stringify(keys.map(({ lane, id }) => [lane, id])),
        now_us: nowUs,
        expire_us: expireUs,
      }),
    remove: (lane, ids) => run(statements.remove, { lane, ids: JSON.stringify(ids) }),
    removePending: (lane, limit) => run(statements.removePending, { lane, limit }),
    expire: (lane, nowUs, limit) => run(statements.expire, { lane, now_us: nowUs, limit }),
    async forget(beforeUs, limit) {
      const values = { before_us: beforeUs, limit };
      return (
        (await run(statements.forget, { ...values, state: 1 })) +
        (await run(statements.forget, { ...values, state: 2 }))
      );
    },
    async entries(state, { after, limit }) {
      const { timeUs, id, lane } = after;
      const values = { state: states.indexOf(state), time_us: timeUs, id, lane, limit };
      return (await engine.reader.rows(statements.entries, values)).map(entryOf);
    },
    async latestEntries(state, { before = end, sinceUs, limit }) {
      const { timeUs, id, lane } = before;
      const values = { state: states.indexOf(state), time_us: timeUs, id, lane, since_us: sinceUs, limit };
      return (await engine.reader.rows(statements.latestEntries, values)).map(entryOf);
    },
    async entriesOf(id, timeUs) {
      return (await engine.reader.rows(statements.entriesOf, { id, time_us: timeUs })).map(entryOf);
    },
    async depth(state) {
      const [row] = await engine.reader.rows(statements.depth, { state: states.indexOf(state) });
      return { count: row![0] as number, oldestUs: (row![1] as number | null) ?? undefined };
    },
    async depths(state) {
      const rows = await engine.reader.rows(statements.depths, { state: states.indexOf(state) });
      return rows.map(([lane, count]) => ({ lane: lane as string, count: count as number }));
    },
  };
}

function ownStatements(dialect: Dialect, name: string) {
  const { query } = dialect;
  const table = sql.table(name);
  const all = (alias: string) => sql.join(columns.map((column) => sql.ref(`${alias}.${column}`)));
  const nextLane = (above: RawBuilder<unknown>) =>
    sql`(select lane from ${table} where state = 0 and ${above} order by lane limit 1)`;
  return {
    dueLanes: compile(
      query,
      sql`with recursive lanes (lane) as (
          select ${nextLane(sql`lane >= ''`)}
          union all
          select ${nextLane(sql`lane > lanes.lane`)} from lanes where lanes.lane is not null
        )
        select lane from lanes where lane is not null and
          (select min(due_us) from ${table} as q where q.state = 0 and q.lane = lanes.lane) <= ${slot("now_us")}`,
    ),
    lease: compile(
      query,
      sql`with due as materialized (
          select lane, id from ${table}
          where state = 0 and lane = ${slot("lane")} and due_us <= ${slot("now_us")}
          order by due_us, id limit ${rowCount("limit")} ${dialect.skipLocked}
        )
        update ${table} set due_us = ${slot("until_us")} from due
        where ${table}.lane = due.lane and ${table}.id = due.id returning ${all(name)}`,
    ),
    settle: compile(
      query,
      sql`update ${table} as q set state = ${integer(3)}, due_us = ${integer(4)}, attempts = ${integer(5)},
          tried_us = ${integer(6)}, result = r.value ->> 7
        from ${dialect.elements(slot("settlements"))}
        where q.lane = r.value ->> 0 and q.id = r.value ->> 1
          and ${dialect.plain(sql.ref("q.state"), "integer")} = 0 and ${dialect.plain(sql.ref("q.due_us"), "integer")} = ${integer(2)}`,
    ),
    requeue: compile(
      query,
      sql`update ${table} as q set state = 0, due_us = ${slot("now_us")}, expire_us = ${slot("expire_us")}, attempts = 0
        from ${dialect.elements(slot("keys"))} where q.lane = r.value ->> 0 and q.id = r.value ->> 1`,
    ),
    remove: compile(
      query,
      sql`delete from ${table} where lane = ${slot("lane")} and ${dialect.isIn(sql.ref("id"), "text", slot("ids"))}`,
    ),
    expire: compile(
      query,
      sql`update ${table} set state = 2 where (lane, id) in
        (select lane, id from ${table} where state = 0 and lane = ${slot("lane")} and due_us <= ${slot("now_us")}
          and expire_us <= ${slot("now_us")} order by due_us limit ${rowCount("limit")})`,
    ),
    forget: compile(
      query,
      sql`delete from ${table} where (lane, id) in
        (select lane, id from ${table} where state = ${slot("state")} and time_us < ${slot("before_us")}
          order by time_us limit ${rowCount("limit")})`,
    ),
    entries: compile(
      query,
      sql`select ${all("q")} from ${table} as q
        where q.state = ${slot("state")} and (q.time_us, q.id, q.lane) > (${slot("time_us")}, ${slot("id")}, ${slot("lane")})
        order by q.time_us, q.id, q.lane limit ${rowCount("limit")}`,
    ),
    latestEntries: compile(
      query,
      sql`select ${all("q")} from ${table} as q
        where q.state = ${slot("state")} and q.time_us >= ${slot("since_us")}
          and (q.time_us, q.id, q.lane) < (${slot("time_us")}, ${slot("id")}, ${slot("lane")})
        order by q.time_us desc, q.id desc, q.lane desc limit ${rowCount("limit")}`,
    ),
    entriesOf: compile(
      query,
      sql`select ${all("q")} from ${table} as q
        where q.state in (0, 1, 2) and q.time_us = ${slot("time_us")} and q.id = ${slot("id")} order by q.lane`,
    ),
    depth: compile(
      query,
      sql`select count(*), (select time_us from ${table} where state = ${slot("state")} order by time_us limit 1)
        from ${table} where state = ${slot("state")}`,
    ),
    depths: compile(
      query,
      sql`select lane, count(*) from ${table} where state = ${slot("state")} group by lane order by lane`,
    ),
  };
}

/** The n-th member of an element of a JSON array, as a number. */
function integer(index: number) {
  return sql`cast(r.value ->> ${sql.lit(index)} as bigint)`;
}

function settled({ lane, id, leaseUs, state, dueUs, attempts, triedUs, result }: Settlement): unknown[] {
  return [lane, id, leaseUs, states.indexOf(state), dueUs, attempts, triedUs, stored("text", result)];
}

function entryOf(row: readonly unknown[]): QueueEntry {
  const [lane, id, state, timeUs, dueUs, expireUs, attempts, triedUs, result] = row;
  return {
    lane: lane as string,
    id: id as string,
    state: states[state as number]!,
    timeUs: timeUs as number,
    dueUs: dueUs as number,
    expireUs: expireUs as number,
    attempts: attempts as number,
    triedUs: triedUs as number,
    result: result as string,
  };
}
