/**
 * delivery: webhooks. Every change is delivered to its subscribers at least once, signed by the platform.
 *
 * - {@link createCallEvents} derives the events of a call from the annotations of its method and from what the call
 *   changed. {@link recordEvent} stores them in the transaction of the change, so neither exists without the other.
 * - {@link Dispatcher} delivers recorded events. An event fans out to the subscriptions of the groups at and above
 *   its subject, one delivery each. The deliveries of each subscription are a partition of the queue, handled by a
 *   worker with its own connections and back-off, so a dead, slow or hostile sink does not delay others. Deliveries are
 *   leased: several processes share the work, and deliveries leased by a process that died become due again.
 * - {@link readDeliveries}, {@link readEvents} and {@link replay} are for operators, {@link listDeliveries} for the
 *   owners of a subscription. Of a sink's response only the status is kept.
 *
 * This module does not depend on resources, token claims or tables. Callers pass in changes and actors; subscriptions
 * come from a {@link SubscriptionSource}, tokens from a function that signs them. It never connects to a private
 * address (`outbound.ts`) and never waits for a sink in a transaction.
 *
 * Follows: CloudEvents 1.0 and its HTTP binding (binary mode), Standard Webhooks 1.0.0, OpenID Connect for the token,
 * RFC 9110 for `Retry-After` and 410.
 */

export { AttemptCounts, depthsOfDeliveries, oldestPendingSeconds, otherSubscriptions } from "./attempt-counts.ts";
export { type ChangedResource, createCallEvents } from "./call-events.ts";
export {
  countDeliveries,
  type Delivery,
  type DeliveryCounts,
  type DeliveryState,
  deliveriesOf,
  dropDeliveries,
  readDeliveries,
  replay,
} from "./deliveries.ts";
export { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
export { type Event, type NewEvent, readEvents, recordEvent, recordEventFor, traceExtensions } from "./event.ts";
export { forgetDelivered } from "./retention.ts";
export {
  groupsNotifiedOf,
  type HasSubscriptions,
  type Subscriber,
  type Subscription,
  type SubscriptionSource,
} from "./subscription.ts";
export {
  countOfSubscription,
  type DeliveryOfEvent,
  findDelivery,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
  type SubscriptionFilter,
} from "./subscription-deliveries.ts";
