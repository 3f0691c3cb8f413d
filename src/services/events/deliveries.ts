/** The service of deliveries: the status of the events of a subscription, and how they are delivered. */
import { create, type DescService } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  DeliveriesService,
  DeliverySchema,
  Delivery_State as DeliveryState,
  type ListDeliveriesRequest,
  ListDeliveriesResponseSchema,
  ListEventTypesResponseSchema,
  type Delivery as Message,
  ReplayFailedDeliveriesResponseSchema,
} from "../../../gen/platform/delivery/v1/deliveries_pb.ts";
import {
  countOfSubscription,
  type DeliveryOfEvent,
  findDelivery,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
  type SubscriptionFilter,
} from "../../delivery/index.ts";
import { failedPrecondition, notFound } from "../../errors.ts";
import {
  databaseOf,
  environmentOf,
  findRowToChange,
  implement,
  type MountedService,
  messageOf,
  openList,
  requireResource,
  transactionOf,
} from "../../resource/index.ts";
import { timeRangeOf } from "../time-range.ts";
import { deliverySettings, settingsMethods } from "./delivery-settings.ts";
import { eventTypesOf } from "./event-types.ts";
import { subscriptions } from "./subscriptions.ts";
import { recordTestEvent } from "./test-event.ts";

/** @param services every service of the contract. */
export function deliveriesService(services: () => readonly DescService[]): MountedService {
  return implement(DeliveriesService, [deliverySettings], {
    ...settingsMethods,

    async getDelivery({ subscription, eventId }, context) {
      await requireResource(subscriptions, subscription, context);
      return requireDelivery(subscription, eventId, context);
    },

    async listDeliveries(request, context) {
      const { query, order, after, pageSize, tokenAfter } = openList(byEventTime, request, context);
      await requireResource(subscriptions, query.subscription, context);
      const filter = filterOf(query);
      const session = databaseOf(context);
      const place = after && { timeUs: Number(after[0]), id: String(after[1]) };
      const oldestFirst = order[0]?.descending === false;
      const part = { after: place, skip: request.skip, limit: pageSize, oldestFirst };
      const { deliveries, last } = await listDeliveries(session, filter, part);
      const { count, isEstimated } = await countOfSubscription(session, filter);
      return create(ListDeliveriesResponseSchema, {
        deliveries: deliveries.map(deliveryMessage),
        totalCount: BigInt(count),
        estimated: isEstimated,
        skipped: request.skip,
        ...(last !== undefined && { nextPageToken: tokenAfter([last.timeUs, last.id]) }),
      });
    },

    async replayDelivery({ subscription, eventId }, context) {
      await requireEnabled(subscription, context);
      const key = { partition: subscription, id: eventId };
      await replayDelivery(transactionOf(context), key, environmentOf(context).nowMs);
      return requireDelivery(subscription, eventId, context);
    },

    async replayFailedDeliveries(request, context) {
      await requireEnabled(request.subscription, context);
      const filter = {
        subscription: request.subscription,
        state: "dead",
        type: undefined,
        ...timeRangeOf(request),
      } as const;
      const { count, hasMore } = await replayDeliveries(transactionOf(context), filter, environmentOf(context).nowMs);
      return create(ReplayFailedDeliveriesResponseSchema, { replayedCount: count, hasMore });
    },

    async listEventTypes(request, context) {
      const { order, after, pageSize, tokenAfter } = openList(byType, request, context);
      const all = eventTypesOf(services());
      if (order[0]?.descending === true) all.reverse();
      const start = after === undefined ? 0 : all.findIndex(({ type }) => type === after[0]) + 1;
      const eventTypes = all.slice(start + request.skip, start + request.skip + pageSize);
      const last = eventTypes.at(-1);
      return create(ListEventTypesResponseSchema, {
        eventTypes,
        totalCount: BigInt(all.length),
        skipped: request.skip,
        ...(last !== undefined && last !== all.at(-1) && { nextPageToken: tokenAfter([last.type]) }),
      });
    },

    async sendTestEvent({ subscription }, context) {
      await requireEnabled(subscription, context);
      return requireDelivery(subscription, await recordTestEvent(subscription, context), context);
    },
  });
}

/** Errors: NOT_FOUND; FAILED_PRECONDITION for a disabled subscription, whose pending deliveries are dropped. */
async function requireEnabled(uid: string, context: HandlerContext): Promise<void> {
  const { disableTime } = messageOf(subscriptions, await findRowToChange(subscriptions, uid, context));
  if (disableTime === undefined) return;
  const description = "the subscription is disabled: its receiver answered 410 Gone";
  throw failedPrecondition({ type: "DISABLED", subject: uid, description });
}

const byEventTime = {
  sortNames: { event_time: "event_time" },
  defaultOrder: [{ column: "event_time", descending: true }],
};
const byType = { sortNames: { type: "type" }, defaultOrder: [{ column: "type", descending: false }] };

/** Errors: NOT_FOUND. */
async function requireDelivery(subscription: string, id: string, context: HandlerContext): Promise<Message> {
  const found = await findDelivery(databaseOf(context), { partition: subscription, id });
  if (found === undefined) throw notFound({ type: "delivery.platform.internal/Delivery", uid: id });
  return deliveryMessage(found);
}

const states = {
  pending: DeliveryState.PENDING,
  delivered: DeliveryState.DELIVERED,
  dead: DeliveryState.FAILED,
} as const;

function filterOf({ subscription, state, type, ...times }: ListDeliveriesRequest): SubscriptionFilter {
  const names = Object.keys(states) as (keyof typeof states)[];
  return { subscription, state: names.find((name) => states[name] === state), type, ...timeRangeOf(times) };
}

function deliveryMessage({ delivery, event }: DeliveryOfEvent): Message {
  const { subscription, eventId, state, eventTimeMs, history, nextAttemptTimeMs } = delivery;
  return create(DeliverySchema, {
    subscription,
    eventId,
    ...(event && { type: event.type, source: event.source, subject: event.subject }),
    eventTime: timestampFromMs(eventTimeMs),
    state: states[state],
    attempts: history.map(({ timeMs, durationMs, result }) => ({
      time: timestampFromMs(timeMs),
      duration: durationFromMs(durationMs),
      ...(/^\d{3}$/.test(result) ? { statusCode: Number(result) } : { error: result }),
    })),
    ...(nextAttemptTimeMs !== undefined && { nextAttemptTime: timestampFromMs(nextAttemptTimeMs) }),
  });
}
