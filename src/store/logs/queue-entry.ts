/** Entries of queues. */
import { sql } from "kysely";

/** Identifies an entry. */
export interface QueueKey {
  readonly partition: string;
  /** Unique in its partition. */
  readonly id: string;
}

/** The state of an entry. */
export type QueueState = "pending" | "done" | "dead";

/** An entry. Times are microseconds since 1970. */
export interface QueueEntry extends QueueKey {
  readonly state: QueueState;
  /** The time that the caller gave it. */
  readonly timeUs: number;
  /** When it can be leased; for a leased entry, when the lease expires. */
  readonly dueUs: number;
  /** When it is no longer worth another attempt. */
  readonly expireUs: number;
  readonly attempts: number;
  /** The time of the last attempt; 0 for never. */
  readonly triedUs: number;
  /** The result of the last attempt. */
  readonly result: string;
  /** What the caller notes about all attempts. It outlasts `requeue`. */
  readonly history: string;
}

/** A new entry. It is due at `timeUs`. */
export type NewQueueEntry = QueueKey & Pick<QueueEntry, "timeUs" | "expireUs">;

/** The position of an entry among those of its state: by time, then id, then partition. */
export type QueuePlace = QueueKey & Pick<QueueEntry, "timeUs">;

/** The states by their numbers in the database. */
export const queueStates: readonly QueueState[] = ["pending", "done", "dead"];

/**
 * The column of the partition. Migration 0006 gave it this name, and a rename would break servers of the release
 * before, which run beside this one on the same tables during an upgrade.
 */
export const partitionColumn = "lane";

/** The columns of an entry, in the order of {@link entryOf}. */
export const queueColumns = [
  partitionColumn,
  "id",
  "state",
  "time_us",
  "due_us",
  "expire_us",
  "attempts",
  "tried_us",
  "result",
  "history",
] as const;

/** The columns of an entry, of a table that is read under an alias. */
export function columnsOfEntry(alias: string) {
  return sql.join(queueColumns.map((column) => sql.ref(`${alias}.${column}`)));
}

/** The column of the partition, of a table that is read under an alias. */
export function partitionOf(alias: string) {
  return sql.ref(`${alias}.${partitionColumn}`);
}

/** Makes an entry of the values of {@link queueColumns}. */
export function entryOf(row: readonly unknown[]): QueueEntry {
  const [partition, id, state, timeUs, dueUs, expireUs, attempts, triedUs, result, history] = row;
  return {
    partition: partition as string,
    id: id as string,
    state: queueStates[state as number]!,
    timeUs: timeUs as number,
    dueUs: dueUs as number,
    expireUs: expireUs as number,
    attempts: attempts as number,
    triedUs: triedUs as number,
    result: result as string,
    history: history as string,
  };
}

/** The n-th member of element `r` of a JSON array, as a number. */
export function integer(index: number) {
  return sql`cast(r.value ->> ${sql.lit(index)} as bigint)`;
}
