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

/** Which part of the listing of a subscription to read. */
export interface DeliveryPart {
  /** The place behind which it begins. */
  readonly after: DeliveryPlace | undefined;
  /** How many deliveries to pass over. */
  readonly skip: number;
  readonly limit: number;
  /** By default those of the newest events come first. */
  readonly oldestFirst?: boolean;
}

/**
 * Reads a page of the deliveries of a subscription. `last`: where the next page begins; undefined if there is none.
 * With a type it looks at 1000 deliveries behind those that it skips, so that it may have fewer, or none, while there
 * are others behind it.
 */
export async function listDeliveries(
  session: ReadSession,
  filter: SubscriptionFilter,
  { after, skip, limit, oldestFirst = false }: DeliveryPart,
): Promise<{ readonly deliveries: DeliveryOfEvent[]; readonly last: DeliveryPlace | undefined }> {
  const deliveries: DeliveryOfEvent[] = [];
  let last = after;
  let skipped = 0;
  for (let examined = 0; examined < maxExamined; ) {
    const wanted = filter.type === undefined ? skip - skipped + limit - deliveries.length + 1 : batchSize;
    const size = Math.min(batchSize, wanted, maxExamined - examined);
    const batch = await readDeliveriesOf(session, filter, { after: last, limit: size, oldestFirst });
    for (const { entry, delivery } of batch) {
      if (skipped === skip) examined++;
      if (delivery !== undefined) {
        if (skipped === skip && deliveries.length === limit) return { deliveries, last };
        if (skipped === skip) deliveries.push(delivery);
        else skipped++;
      }
      last = entry;
    }
    if (batch.length < size) return { deliveries, last: undefined };
  }
  return { deliveries, last };
}

/** The next entries of a subscription, each with its delivery if that is selected. */
async function readDeliveriesOf(
  session: ReadSession,
  filter: SubscriptionFilter,
  scan: { readonly after?: DeliveryPlace | undefined; readonly limit: number; readonly oldestFirst?: boolean },
): Promise<{ readonly entry: QueueEntry; readonly delivery: DeliveryOfEvent | undefined }[]> {
  const { type } = filter;
  const entries = await session.scanQueue(deliveriesQueue, { ...scanOf(filter), ...scan });
  const events = await readEventHeads(
    session,
    entries.map(({ id }) => id),
  );
  return entries.map((entry) => {
    const event = events.get(entry.id);
    const isSelected = type === undefined || (event !== undefined && matchesType(type, event.type));
    return { entry, delivery: isSelected ? { delivery: deliveryOf(entry), event } : undefined };
  });
}

/** How many deliveries a listing has. `isEstimated`: at least so many; only the newest 1000 are counted. */
export async function countOfSubscription(
  session: ReadSession,
  filter: SubscriptionFilter,
): Promise<{ readonly count: number; readonly isEstimated: boolean }> {
  const counted = await session.countQueued(deliveriesQueue, { ...scanOf(filter), limit: maxExamined + 1 });
  const isEstimated = counted > maxExamined;
  if (filter.type === undefined) return { count: Math.min(counted, maxExamined), isEstimated };
  const newest = await readDeliveriesOf(session, filter, { limit: maxExamined });
  return { count: newest.filter(({ delivery }) => delivery !== undefined).length, isEstimated };
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
