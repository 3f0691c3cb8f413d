/**
 * Subscriptions: addresses that receive the events of a group and of everything below it.
 *
 * The address is checked twice. Here its text: https without credentials, no private address in any spelling, no
 * `localhost`. At every delivery the addresses that its name resolves to. The signing secret is created here, returned
 * by Create only, and stored encrypted.
 */
import {
  ListSubscriptionsRequestSchema,
  SubscriptionSchema,
  SubscriptionsService,
} from "../../../gen/platform/events/v2/subscriptions_pb.ts";
import { dropDeliveries } from "../../delivery/index.ts";
import { invalid } from "../../errors.ts";
import { newUid } from "../../new-uid.ts";
import { OutboundRefused, parseOutboundUrl } from "../../outbound.ts";
import {
  defineResource,
  environmentOf,
  implement,
  insertResource,
  type MountedService,
  removeResource,
  toResponse,
  transactionOf,
} from "../../resource/index.ts";
import { groups } from "../iam/groups.ts";
import { createSigningSecret, sealSigningSecrets } from "./signing-secret.ts";

export const subscriptions = defineResource({
  schema: SubscriptionSchema,
  list: ListSubscriptionsRequestSchema,
  parent: groups,
  onParentDelete: "block",
  columns: {},
  filters: {},
  async hydrate(messages) {
    for (const subscription of messages) subscription.signingSecret = "";
  },
});

/** @param allowLoopbackSinks whether addresses on a loopback host are accepted, at http too. */
export function subscriptionsService(allowLoopbackSinks: boolean): MountedService {
  return implement(SubscriptionsService, [subscriptions], {
    async createSubscription({ parent, subscription }, context) {
      const uid = newUid(parent);
      const signingSecret = createSigningSecret();
      const output = { signingSecret: sealSigningSecrets(environmentOf(context).secrets, uid, [signingSecret]) };
      const row = await insertResource(subscriptions, parent, subscription, context, { uid, output });
      requireAllowed(subscription?.sink ?? "", allowLoopbackSinks);
      return Object.assign(await toResponse(subscriptions, row, context), { signingSecret });
    },

    async deleteSubscription(request, context) {
      await removeResource(subscriptions, request, context);
      await dropDeliveries(transactionOf(context), request.uid);
      return {};
    },
  });
}

/** Errors: INVALID_ARGUMENT when no delivery could be sent to the address. */
function requireAllowed(sink: string, allowLoopback: boolean): void {
  try {
    parseOutboundUrl(sink, allowLoopback);
  } catch (error) {
    if (error instanceof OutboundRefused) throw invalid({ field: "sink", description: error.message });
    throw error;
  }
}
