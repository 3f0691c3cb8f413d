/**
 * Deliveries: an event on its way to one subscription. They are entries of a queue whose lanes are the uids of subscriptions; the lane "" holds
 * events that wait for their fan-out.
 */
import type { Database, Queue, QueueEntry, QueueKey, QueuePlace, QueueState, WriteSession } from "../store/index.ts";
import { deliveryLifeMs } from "./retry.ts";

/** The queue of a database, by name. */
export const deliveriesQueue = "deliveries";
/** The lane of what has not been fanned out. */
export const fanOutLane = "";

/** Where a delivery is: waiting for its next attempt, accepted by the sink, or given up. */
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
  /** What came of the last attempt: an HTTP status, or why there was none (`timeout`, `dns`, `tls: …`); "" before the first. */
  readonly lastResult: string;
  /** undefined once it is delivered or dead. */
  readonly nextAttemptTimeMs: number | undefined;
}

/** Which deliveries to read. */
export interface DeliveryFilter {
  /** Only those whose event was recorded then or later. */
  readonly sinceMs?: number | undefined;
  readonly subscription?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Whether those of the newest events come first. */
  readonly newestFirst?: boolean;
}

const queueStates: Readonly<Record<DeliveryState, QueueState>> = {
  pending: "pending",
  delivered: "done",
  dead: "dead",
};
const batchSize = 500;
/** So few that no other change waits for them. */
const dropSize = 200;

/** Deliveries in the order of their events' times, oldest first unless the filter says otherwise; read as they are asked for. */
export async function* readDeliveries(database: Database, filter: DeliveryFilter): AsyncGenerator<Delivery> {
  const { sinceMs = 0, subscription, state, newestFirst = false } = filter;
  const queue = database.queue(deliveriesQueue);
  const states = state === undefined ? (Object.keys(queueStates) as DeliveryState[]) : [state];
  const read = newestFirst ? entriesDownTo : entriesFrom;
  const streams = states.map((one) => read(queue, queueStates[one], sinceMs * 1000));
  for await (const entry of merged(streams, newestFirst ? -1 : 1)) {
    if (entry.lane !== fanOutLane && (subscription ?? entry.lane) === entry.lane) yield deliveryOf(entry);
  }
}

/** How many deliveries a subscription has in each state. */
export type DeliveryCounts = { readonly subscription: string } & Readonly<Record<DeliveryState, number>>;

/** The counts of every subscription that has deliveries, by its uid. */
export async function countDeliveries(database: Database): Promise<DeliveryCounts[]> {
  const queue = database.queue(deliveriesQueue);
  const all = new Map<string, Record<DeliveryState, number>>();
  for (const state of Object.keys(queueStates) as DeliveryState[]) {
    for (const { lane, count } of await queue.depths(queueStates[state])) {
      const counts = all.get(lane) ?? { pending: 0, delivered: 0, dead: 0 };
      all.set(lane, { ...counts, [state]: count });
    }
  }
  all.delete(fanOutLane);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([subscription, counts]) => ({ subscription, ...counts }));
}

/** The deliveries of one event, by subscription; `isWaiting` until its subscriptions have been looked for. */
export async function deliveriesOf(
  database: Database,
  event: { readonly id: string; readonly timeMs: number },
): Promise<{ isWaiting: boolean; deliveries: Delivery[] }> {
  const entries = await database.queue(deliveriesQueue).entriesOf(event.id, event.timeMs * 1000);
  return {
    isWaiting: entries.some(({ lane }) => lane === fanOutLane),
    deliveries: entries.filter(({ lane }) => lane !== fanOutLane).map(deliveryOf),
  };
}

/** Makes deliveries due at once, for another 24 hours and with the same event id; how many there were. */
export async function replay(
  database: Database,
  deliveries: readonly Pick<Delivery, "eventId" | "subscription">[],
  nowMs: number,
): Promise<number> {
  const queue = database.queue(deliveriesQueue);
  const keys = deliveries.map(({ eventId, subscription }): QueueKey => ({ lane: subscription, id: eventId }));
  let replayed = 0;
  for (let start = 0; start < keys.length; start += batchSize) {
    const batch = keys.slice(start, start + batchSize);
    replayed += await queue.requeue(batch, nowMs * 1000, (nowMs + deliveryLifeMs) * 1000);
  }
  return replayed;
}

/**
 * Drops what a subscription waits for, in the transaction that deletes it. Where that is much, the dispatcher drops the rest: nothing more is sent, for it asks
 * for the subscription first.
 */
export async function dropDeliveries(session: WriteSession, subscription: string): Promise<void> {
  await session.removePending(deliveriesQueue, subscription, dropSize);
}

async function* entriesFrom(queue: Queue, state: QueueState, timeUs: number): AsyncGenerator<QueueEntry> {
  for (let after: QueuePlace = { timeUs, id: "", lane: "" }; ; ) {
    const entries = await queue.entries(state, { after, limit: batchSize });
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < batchSize) return;
    after = last;
  }
}

async function* entriesDownTo(queue: Queue, state: QueueState, sinceUs: number): AsyncGenerator<QueueEntry> {
  for (let before: QueuePlace | undefined; ; ) {
    const entries = await queue.latestEntries(state, { before, sinceUs, limit: batchSize });
    yield* entries;
    before = entries.at(-1);
    if (before === undefined || entries.length < batchSize) return;
  }
}

/** Streams that are each in order, as one; the sign is that of the order. */
async function* merged(streams: readonly AsyncGenerator<QueueEntry>[], sign: 1 | -1): AsyncGenerator<QueueEntry> {
  const heads = await Promise.all(streams.map(async (stream) => ({ stream, next: await stream.next() })));
  for (;;) {
    const open = heads.filter(({ next }) => next.done !== true);
    const [first] = open.sort((a, b) => sign * compare(a.next.value as QueueEntry, b.next.value as QueueEntry));
    if (first === undefined) return;
    yield first.next.value as QueueEntry;
    first.next = await first.stream.next();
  }
}

function compare(a: QueueEntry, b: QueueEntry): number {
  if (a.timeUs !== b.timeUs) return a.timeUs - b.timeUs;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return a.lane < b.lane ? -1 : 1;
}

function deliveryOf({ lane, id, state, timeUs, dueUs, attempts, triedUs, result }: QueueEntry): Delivery {
  return {
    eventId: id,
    subscription: lane,
    state: state === "done" ? "delivered" : state,
    eventTimeMs: timeUs / 1000,
    attempts,
    lastAttemptTimeMs: triedUs === 0 ? undefined : triedUs / 1000,
    lastResult: result,
    nextAttemptTimeMs: state === "pending" ? dueUs / 1000 : undefined,
  };
}
