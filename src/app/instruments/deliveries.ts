/** Instruments of deliveries, in the process that delivers. */
import {
  type AttemptCounts,
  depthsOfDeliveries,
  oldestPendingSeconds,
  otherSubscriptions,
  type SubscriptionSource,
} from "../../delivery/index.ts";
import type { Metrics } from "../../metrics/index.ts";
import type { Database } from "../../store/index.ts";

/** What they are read from. */
export interface DeliveriesSource {
  readonly database: Database;
  readonly subscriptions: Pick<SubscriptionSource, "pausedAmong">;
  /** Whether the database can be asked. */
  isAvailable(): boolean;
  readonly attempts: AttemptCounts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Adds them. */
export function measureDeliveries(metrics: Metrics, source: DeliveriesSource): void {
  const { database, subscriptions, isAvailable, attempts, now } = source;
  metrics.add({
    name: "platform.deliveries",
    kind: "upDownCounter",
    description:
      "Deliveries that are pending, or dead: given up and kept to be seen; by subscription. Counted in the database.",
    read: () => (isAvailable() ? depthsOfDeliveries(database) : undefined),
  });
  metrics.add({
    name: "platform.delivery.attempts",
    kind: "counter",
    description: "Attempts to deliver an event, by outcome and subscription.",
    limit: { series: 100, label: "subscription", others: otherSubscriptions },
    read: () => attempts.counts,
  });
  metrics.add({
    name: "platform.delivery.oldest_pending_age",
    kind: "upDownCounter",
    description:
      "How long ago the event of the oldest pending delivery was recorded, paused subscriptions left out; 0 when none is.",
    unit: "s",
    read: () => (isAvailable() ? oldestPendingSeconds(database, subscriptions, now()) : undefined),
  });
}
