/** Test events: each goes to one subscription, so that its owner sees whether the receiver works. */
import type { HandlerContext } from "@connectrpc/connect";
import { SendTestEventRequestSchema } from "../../../gen/platform/delivery/v1/deliveries_pb.ts";
import { actorAt, actorOf, authorityOf } from "../../auth/index.ts";
import { recordEventFor } from "../../delivery/index.ts";
import { environmentOf, transactionOf } from "../../resource/index.ts";
import { parentOf } from "../../uid.ts";

/** The type of test events. */
const type = "dev.platform.api.delivery.test.v1";

/** Records a test event for a subscription and returns its id. The body of the event is the request of the call. */
export function recordTestEvent(subscription: string, context: HandlerContext): Promise<string> {
  const { baseUrl, issuerUrl, nowMs } = environmentOf(context);
  const authority = authorityOf(context);
  const actor = actorOf({ ...authority.caller, subject: actorAt(authority, subscription) }, issuerUrl);
  return recordEventFor(transactionOf(context), subscription, {
    timeMs: nowMs,
    type,
    source: `${baseUrl}/delivery/v1/deliveries`,
    subject: subscription,
    extensions: { group: parentOf(subscription), bodytype: SendTestEventRequestSchema.typeName },
    data: JSON.stringify({ actor, body: { subscription } }),
  });
}
