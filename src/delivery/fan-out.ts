/**
 * Fan-out: creates one delivery for each subscription that receives an event, those of the groups at and above its
 * subject. It runs after the change is committed, so changes do not wait for subscriptions. It is idempotent: two
 * processes, or a restart after a crash, may fan out the same event.
 */
import type { NewQueueEntry, Queue } from "../store/index.ts";
import { parentOf } from "../uid.ts";
import { fanOutPartition } from "./deliveries.ts";
import type { Event } from "./event.ts";
import { deliveryLifeMs } from "./retry.ts";
import { groupsNotifiedOf, receives, type SubscriptionSource } from "./subscription.ts";

/** What {@link fanOut} needs. */
interface FanOutOptions {
  readonly queue: Queue;
  readonly subscriptions: SubscriptionSource;
  /** Events by id; those that do not exist are left out. */
  eventsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Event>>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const maxEvents = 100;
const maxDeliveriesAtOnce = 200;
const leaseMs = 60_000;
/**
 * Tolerated difference between the clocks of servers. A new subscription may receive events from this long before its
 * creation; it misses none after it.
 */
const clockSkewMs = 60_000;

/** Fans out up to {@link maxEvents} of the waiting events. Returns their number. */
export async function fanOut({ queue, subscriptions, eventsOf, now }: FanOutOptions): Promise<number> {
  const nowUs = now() * 1000;
  const leased = await queue.lease({
    partition: fanOutPartition,
    nowUs,
    untilUs: nowUs + leaseMs * 1000,
    limit: maxEvents,
  });
  if (leased.length === 0) return 0;
  const ids = leased.map(({ id }) => id);
  const events = [...(await eventsOf(ids)).values()];
  const groups = new Set(events.flatMap(({ subject }) => groupsNotifiedOf(subject)));
  const byGroup = Map.groupBy(await subscriptions.inGroups([...groups]), ({ uid }) => parentOf(uid));
  const deliveries = events.flatMap((event) =>
    groupsNotifiedOf(event.subject).flatMap((group) =>
      (byGroup.get(group) ?? [])
        .filter(({ uid, createTimeMs }) => uid !== event.subject && createTimeMs <= event.timeMs + clockSkewMs)
        .filter((subscriber) => receives(subscriber, event.type))
        .map(({ uid }) => deliveryTo(uid, event)),
    ),
  );
  for (let start = 0; start < deliveries.length; start += maxDeliveriesAtOnce) {
    await queue.add(deliveries.slice(start, start + maxDeliveriesAtOnce));
  }
  await queue.remove(fanOutPartition, ids);
  return leased.length;
}

function deliveryTo(subscription: string, { id, timeMs }: Event): NewQueueEntry {
  return { partition: subscription, id, timeUs: timeMs * 1000, expireUs: (timeMs + deliveryLifeMs) * 1000 };
}
