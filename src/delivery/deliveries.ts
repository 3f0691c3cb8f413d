/**
 * Deliveries: each takes one event to one subscription. They are entries of a queue whose partitions are the uids of
 * subscriptions; the partition "" holds events that wait for fan-out.
 */
import {
  type Database,
  merged,
  type Queue,
  type QueueEntry,
  type QueueKey,
  type QueuePlace,
  type QueueState,
  type WriteSession,
} from "../store/index.ts";
import { attemptsOf, type PastAttempt } from "./history.ts";
import { deliveryLifeMs } from "./retry.ts";

/** Name of the queue. */
export const deliveriesQueue = "deliveries";
/** The partition of events that wait for fan-out. */
export const fanOutPartition = "";

/** `pending`: waiting for its next attempt. `delivered`: accepted by the sink. `dead`: given up. */
export type DeliveryState = "pending" | "delivered" | "dead";

/** One delivery. Times are in milliseconds since 1970. */
export interface Delivery {
  readonly eventId: string;
  /** uid of the subscription. */
  readonly subscription: string;
  readonly state: DeliveryState;
  /** When the event was recorded. */
  readonly eventTimeMs: number;
  readonly attempts: number;
  /** undefined before the first attempt. */
  readonly lastAttemptTimeMs: number | undefined;
  /**
   * Result of the last attempt: an HTTP status, or why there was none (`timeout`, `dns`, `tls: …`). "" before the
   * first.
   */
  readonly lastResult: string;
  /** The latest attempts, oldest first, those before a replay included. */
  readonly history: readonly PastAttempt[];
  /** undefined once delivered or dead. */
  readonly nextAttemptTimeMs: number | undefined;
}

/** Which deliveries to read. */
interface DeliveryFilter {
  /** Only deliveries of events recorded at or after this time. */
  readonly sinceMs?: number | undefined;
  readonly subscription?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Deliveries of the newest events first, instead of the oldest. */
  readonly newestFirst?: boolean;
}

/** The state of the entry of a delivery. */
export const queueStates: Readonly<Record<DeliveryState, QueueState>> = {
  pending: "pending",
  delivered: "done",
  dead: "dead",
};
const batchSize = 500;
/** Small, so that other writers do not wait. */
const dropSize = 200;

/** Streams deliveries in the order of their events' times. */
export async function* readDeliveries(database: Database, filter: DeliveryFilter): AsyncGenerator<Delivery> {
  const { sinceMs = 0, subscription, state, newestFirst = false } = filter;
  const queue = database.queue(deliveriesQueue);
  const states = state === undefined ? (Object.keys(queueStates) as DeliveryState[]) : [state];
  const scan = { sinceUs: sinceMs * 1000, newestFirst };
  const streams = states.map((each) => entriesOf(queue, queueStates[each], scan));
  for await (const entry of merged(streams, newestFirst ? (a, b) => compare(b, a) : compare)) {
    if (entry.partition !== fanOutPartition && (subscription ?? entry.partition) === entry.partition)
      yield deliveryOf(entry);
  }
}

/** How many deliveries a subscription has in each state. */
export type DeliveryCounts = { readonly subscription: string } & Readonly<Record<DeliveryState, number>>;

/** The counts of every subscription that has deliveries, ordered by uid. */
export async function countDeliveries(database: Database): Promise<DeliveryCounts[]> {
  const queue = database.queue(deliveriesQueue);
  const all = new Map<string, Record<DeliveryState, number>>();
  for (const state of Object.keys(queueStates) as DeliveryState[]) {
    for (const { partition, count } of await queue.depths(queueStates[state])) {
      const counts = all.get(partition) ?? { pending: 0, delivered: 0, dead: 0 };
      all.set(partition, { ...counts, [state]: count });
    }
  }
  all.delete(fanOutPartition);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([subscription, counts]) => ({ subscription, ...counts }));
}

/** The deliveries of one event, ordered by subscription. `isWaiting`: the event waits for fan-out. */
export async function deliveriesOf(
  database: Database,
  event: { readonly id: string; readonly timeMs: number },
): Promise<{ isWaiting: boolean; deliveries: Delivery[] }> {
  const entries = await database.queue(deliveriesQueue).entriesOf(event.id, event.timeMs * 1000);
  return {
    isWaiting: entries.some(({ partition }) => partition === fanOutPartition),
    deliveries: entries.filter(({ partition }) => partition !== fanOutPartition).map(deliveryOf),
  };
}

/** Makes deliveries due at once, for another 24 hours and with the same event id. Returns how many existed. */
export async function replay(
  database: Database,
  deliveries: readonly Pick<Delivery, "eventId" | "subscription">[],
  nowMs: number,
): Promise<number> {
  const queue = database.queue(deliveriesQueue);
  const keys = deliveries.map(({ eventId, subscription }): QueueKey => ({ partition: subscription, id: eventId }));
  let replayed = 0;
  for (let start = 0; start < keys.length; start += batchSize) {
    const batch = keys.slice(start, start + batchSize);
    replayed += await queue.requeue(batch, nowMs * 1000, (nowMs + deliveryLifeMs) * 1000);
  }
  return replayed;
}

/**
 * Drops pending deliveries of a subscription, in the transaction that deletes it. The dispatcher drops the rest: it
 * reads the subscription before it sends, so nothing more is sent.
 */
export async function dropDeliveries(session: WriteSession, subscription: string): Promise<void> {
  await session.removePending(deliveriesQueue, subscription, dropSize);
}

async function* entriesOf(
  queue: Queue,
  state: QueueState,
  scan: { readonly sinceUs: number; readonly newestFirst: boolean },
): AsyncGenerator<QueueEntry> {
  for (let after: QueuePlace | undefined; ; ) {
    const entries = await queue.entries(state, { ...scan, after, limit: batchSize });
    yield* entries;
    after = entries.at(-1);
    if (after === undefined || entries.length < batchSize) return;
  }
}

function compare(a: QueueEntry, b: QueueEntry): number {
  if (a.timeUs !== b.timeUs) return a.timeUs - b.timeUs;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return a.partition < b.partition ? -1 : 1;
}

/** The delivery of an entry. */
export function deliveryOf(entry: QueueEntry): Delivery {
  const { partition, id, state, timeUs, dueUs, attempts, triedUs, result, history } = entry;
  return {
    eventId: id,
    subscription: partition,
    state: state === "done" ? "delivered" : state,
    eventTimeMs: timeUs / 1000,
    attempts,
    lastAttemptTimeMs: triedUs === 0 ? undefined : triedUs / 1000,
    lastResult: result,
    history: attemptsOf(history),
    // Rows of earlier versions have fractions.
    nextAttemptTimeMs: state === "pending" ? Math.ceil(dueUs / 1000) : undefined,
  };
}
