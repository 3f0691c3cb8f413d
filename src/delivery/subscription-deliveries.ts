/** The deliveries of one subscription, with the events that they deliver, as sessions read and change them. */
import type { QueueEntry, QueueKey, ReadSession, WriteSession } from "../store/index.ts";
import { type Delivery, type DeliveryState, deliveriesQueue, deliveryOf, queueStates } from "./deliveries.ts";
import { type EventHead, readEventHeads } from "./event.ts";
import { deliveryLifeMs } from "./retry.ts";
import { matchesType } from "./subscription.ts";

/** A delivery and its event; undefined if the event has just been forgotten. */
export interface DeliveryOfEvent {
  readonly delivery: Delivery;
  readonly event: EventHead | undefined;
}

/** Which deliveries of a subscription to read. Times are those of events, in milliseconds since 1970. */
export interface SubscriptionFilter {
  /** uid of the subscription. */
  readonly subscription: string;
  readonly state: DeliveryState | undefined;
  /** A type of events, or a prefix of types and `*`. */
  readonly type: string | undefined;
  /** Only events of this time or later. */
  readonly sinceMs: number | undefined;
  /** Only events from before this time. */
  readonly untilMs: number | undefined;
}

/** The place of a delivery in the listing of a subscription. */
export type DeliveryPlace = Pick<QueueEntry, "timeUs" | "id">;

/** How many deliveries a call looks at. */
const maxExamined = 1000;
const batchSize = 200;

/**
 * Reads a page of at most `limit` deliveries behind the place `after`, newest events first. `last`: where the next page
 * begins; undefined if there is none. With a type it looks at 1000 deliveries, so that it may have fewer, or none, while
 * there are others behind it.
 */
export async function listDeliveries(
  session: ReadSession,
  filter: SubscriptionFilter,
  { after, limit }: { readonly after: DeliveryPlace | undefined; readonly limit: number },
): Promise<{ readonly deliveries: DeliveryOfEvent[]; readonly last: DeliveryPlace | undefined }> {
  const { type } = filter;
  const deliveries: DeliveryOfEvent[] = [];
  let last = after;
  for (let examined = 0, size = limit + 1; examined < maxExamined; size = Math.min(batchSize, maxExamined - examined)) {
    const entries = await session.scanQueue(deliveriesQueue, { ...scanOf(filter), after: last, limit: size });
    const events = await readEventHeads(
      session,
      entries.map(({ id }) => id),
    );
    for (const entry of entries) {
      const event = events.get(entry.id);
      if (type === undefined || (event !== undefined && matchesType(type, event.type))) {
        if (deliveries.length === limit) return { deliveries, last };
        deliveries.push({ delivery: deliveryOf(entry), event });
      }
      last = entry;
    }
    if (entries.length < size) return { deliveries, last: undefined };
    examined += size;
  }
  return { deliveries, last };
}

/** How many deliveries a listing has, whatever their type. `isEstimated`: at least so many; only 1000 are counted. */
export async function countOfSubscription(
  session: ReadSession,
  filter: SubscriptionFilter,
): Promise<{ readonly count: number; readonly isEstimated: boolean }> {
  const count = await session.countQueued(deliveriesQueue, { ...scanOf(filter), limit: maxExamined + 1 });
  return { count: Math.min(count, maxExamined), isEstimated: count > maxExamined };
}

/** The delivery of an event to a subscription. */
export async function findDelivery(session: ReadSession, key: QueueKey): Promise<DeliveryOfEvent | undefined> {
  const entry = await session.findQueued(deliveriesQueue, key);
  if (entry === undefined) return undefined;
  return { delivery: deliveryOf(entry), event: (await readEventHeads(session, [key.id])).get(key.id) };
}

/** Makes a delivery due at once, for another 24 hours and with the same event id. Returns whether it exists. */
export async function replayDelivery(session: WriteSession, key: QueueKey, nowMs: number): Promise<boolean> {
  return (await requeue(session, [key], nowMs)) > 0;
}

/**
 * Does the same with the selected deliveries, at most 1000 of them, those of the newest events first, whatever their
 * type. Returns how many, and whether there are others.
 */
export async function replayDeliveries(
  session: WriteSession,
  filter: SubscriptionFilter,
  nowMs: number,
): Promise<{ readonly count: number; readonly hasMore: boolean }> {
  const entries = await session.scanQueue(deliveriesQueue, { ...scanOf(filter), limit: maxExamined + 1 });
  const count = await requeue(session, entries.slice(0, maxExamined), nowMs);
  return { count, hasMore: entries.length > maxExamined };
}

function requeue(session: WriteSession, keys: readonly QueueKey[], nowMs: number): Promise<number> {
  return session.requeue(deliveriesQueue, keys, nowMs * 1000, (nowMs + deliveryLifeMs) * 1000);
}

const allStates = Object.values(queueStates);

function scanOf({ subscription, state, sinceMs, untilMs }: SubscriptionFilter) {
  return {
    partition: subscription,
    states: state === undefined ? allStates : [queueStates[state]],
    sinceUs: sinceMs && sinceMs * 1000,
    untilUs: untilMs === undefined ? undefined : untilMs * 1000,
  };
}
