/**
 * Fan-out: one delivery for every subscription that is to receive an event, those of the groups at and above its subject. It is no part of
 * the change, so that no change waits for subscriptions; it may be done twice, by two processes or after a crash, and comes to the same.
 */
import type { NewQueueEntry, Queue } from "../store/index.ts";
import { parentOf } from "../uid.ts";
import { fanOutLane } from "./deliveries.ts";
import type { Event } from "./event.ts";
import { deliveryLifeMs } from "./retry.ts";
import { placesHeardIn, type SubscriptionSource } from "./subscription.ts";

/** What {@link fanOut} works with. */
export interface FanOutOptions {
  readonly queue: Queue;
  readonly subscriptions: SubscriptionSource;
  /** The events that exist, by id. */
  eventsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Event>>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const eventsAtOnce = 100;
const deliveriesAtOnce = 200;
const leaseMs = 60_000;
/** Servers' clocks may differ by this much; a subscription may receive what happened so long before it was made, and misses nothing after. */
const clockSkewMs = 60_000;

/** Fans out some of the events that wait for it; how many. */
export async function fanOut({ queue, subscriptions, eventsOf, now }: FanOutOptions): Promise<number> {
  const nowUs = now() * 1000;
  const leased = await queue.lease({ lane: fanOutLane, nowUs, untilUs: nowUs + leaseMs * 1000, limit: eventsAtOnce });
  if (leased.length === 0) return 0;
  const ids = leased.map(({ id }) => id);
  const events = [...(await eventsOf(ids)).values()];
  const groups = new Set(events.flatMap(({ subject }) => placesHeardIn(subject)));
  const byGroup = Map.groupBy(await subscriptions.inGroups([...groups]), ({ uid }) => parentOf(uid));
  const deliveries = events.flatMap((event) =>
    placesHeardIn(event.subject).flatMap((group) =>
      (byGroup.get(group) ?? [])
        .filter(({ uid, createTimeMs }) => uid !== event.subject && createTimeMs <= event.timeMs + clockSkewMs)
        .map(({ uid }) => deliveryTo(uid, event)),
    ),
  );
  for (let start = 0; start < deliveries.length; start += deliveriesAtOnce) {
    await queue.add(deliveries.slice(start, start + deliveriesAtOnce));
  }
  await queue.remove(fanOutLane, ids);
  return leased.length;
}

function deliveryTo(subscription: string, { id, timeMs }: Event): NewQueueEntry {
  return { lane: subscription, id, timeUs: timeMs * 1000, expireUs: (timeMs + deliveryLifeMs) * 1000 };
}
