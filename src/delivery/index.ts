/**
 * The delivery room: every change is told to whoever subscribed, at least once, provably by us.
 *
 * - {@link createCallEvents} says which events a call has caused, by the annotations of its method and by what it has changed, and {@link recordEvent}
 *   writes them in the transaction of the change: no change without its event, no event without its change.
 * - {@link startDispatcher} delivers what is recorded. An event is fanned out to the subscriptions of the groups above its subject, one delivery each; every
 *   subscription's deliveries are a lane of their own, with its own connections, pace and rest, so that a sink that is dead, slow or hostile costs others nothing.
 *   Deliveries are leased, so that several processes share the work and what a process had when it died comes back.
 * - {@link readDeliveries}, {@link readEvents}, {@link replay} are the operator's view. Of what a sink answers only the status is kept, and no tenant sees it.
 *
 * It refuses to know resources, tokens' claims or tables: changes and callers are told to it, subscriptions come through {@link SubscriptionSource}, tokens are
 * signed by {@link SignToken}, rows are the store's. It never speaks to a private address (`outbound.ts`) and never waits for a sink in a transaction.
 *
 * Follows: CloudEvents 1.0 and its HTTP binding (binary mode), Standard Webhooks 1.0.0, OpenID Connect for the token, RFC 9110 for `Retry-After` and 410.
 */
export {
  type Actor,
  type CallEvents,
  type CallEventsOptions,
  type ChangedResource,
  type ChangingCall,
  createCallEvents,
} from "./call-events.ts";
export {
  countDeliveries,
  type Delivery,
  type DeliveryCounts,
  type DeliveryFilter,
  type DeliveryState,
  deliveriesOf,
  dropDeliveries,
  readDeliveries,
  replay,
} from "./deliveries.ts";
export { type Dispatcher, type DispatcherOptions, startDispatcher } from "./dispatcher.ts";
export { type Event, type NewEvent, readEvents, recordEvent } from "./event.ts";
export { type DeliveryMetrics, serveMetrics } from "./metrics.ts";
export { forgetDelivered } from "./retention.ts";
export { deliveryLifeMs } from "./retry.ts";
export type { SignToken } from "./signing.ts";
export type { Attempt } from "./sink.ts";
export type { HasSubscriptions, Subscription, SubscriptionSource } from "./subscription.ts";
