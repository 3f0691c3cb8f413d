/** Delivery settings: which events a subscription receives, whether it is paused, and its signing secrets. */
import { clone, create, equals } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type DeliverySettings,
  DeliverySettingsSchema,
  type GetDeliverySettingsRequest,
  type PauseSubscriptionRequest,
  type ResumeSubscriptionRequest,
  type RotateSigningSecretRequest,
  type UpdateDeliverySettingsRequest,
} from "../../../gen/platform/delivery/v1/deliveries_pb.ts";
import {
  contentOf,
  databaseOf,
  defineResource,
  environmentOf,
  findRow,
  findRowToChange,
  messageOf,
  rewriteResource,
  toResponse,
  transactionOf,
  updateResource,
} from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import { groups } from "../iam/groups.ts";
import { createSigningSecret, openSigningSecrets, sealSigningSecrets } from "./signing-secret.ts";
import { subscriptions } from "./subscriptions.ts";

/** Settings are rows of their own. A subscription without a row has the settings that it had at first. */
export const deliverySettings = defineResource({
  schema: DeliverySettingsSchema,
  parent: groups,
  onParentDelete: "cascade",
  partOf: subscriptions,
  columns: {},
});

const dayMs = 86_400_000;

/** The methods about deliverySettings. */
export const settingsMethods = {
  async getDeliverySettings({ uid }: GetDeliverySettingsRequest, context: HandlerContext) {
    const subscription = await findRow(subscriptions, uid, context);
    const stored = await databaseOf(context).get(deliverySettings.table, uid);
    return toResponse(deliverySettings, stored ?? firstSettings(subscription), context);
  },

  async updateDeliverySettings(request: UpdateDeliverySettingsRequest, context: HandlerContext) {
    const body = request.deliverySettings ?? create(DeliverySettingsSchema);
    await rowToChange(await findRowToChange(subscriptions, body.uid, context), context);
    return toResponse(
      deliverySettings,
      await updateResource(deliverySettings, body.uid, body, request.updateMask, context),
      context,
    );
  },

  async pauseSubscription({ uid }: PauseSubscriptionRequest, context: HandlerContext) {
    const { nowMs } = environmentOf(context);
    return change(await findRowToChange(subscriptions, uid, context), context, (message) => {
      message.pauseTime ??= timestampFromMs(nowMs);
    });
  },

  async resumeSubscription({ uid }: ResumeSubscriptionRequest, context: HandlerContext) {
    const { nowMs } = environmentOf(context);
    return change(await findRowToChange(subscriptions, uid, context), context, (message) => {
      if (message.pauseTime !== undefined) message.resumeTime = timestampFromMs(nowMs);
      message.pauseTime = undefined;
    });
  },

  async rotateSigningSecret({ uid, overlap }: RotateSigningSecretRequest, context: HandlerContext) {
    const { nowMs, secrets } = environmentOf(context);
    const overlapMs = overlap === undefined ? dayMs : durationMs(overlap);
    const signingSecret = createSigningSecret();
    const row = await findRowToChange(subscriptions, uid, context);
    const subscription = messageOf(subscriptions, row);
    const [former = ""] = openSigningSecrets(secrets, uid, subscription.signingSecret);
    const all = overlapMs > 0 ? [signingSecret, former] : [signingSecret];
    subscription.signingSecret = sealSigningSecrets(secrets, uid, all);
    await rewriteResource(subscriptions, row, subscription, context);
    const changed = await change(row, context, (message) => {
      message.formerSecretExpireTime = timestampFromMs(nowMs + overlapMs);
    });
    return Object.assign(changed, { signingSecret });
  },
};

/** The stored row of a subscription's deliverySettings, which the call will change. */
async function rowToChange(subscription: Row, context: HandlerContext): Promise<Row> {
  const session = transactionOf(context);
  const stored = await session.getToChange(deliverySettings.table, subscription.uid);
  return stored ?? session.insert(deliverySettings.table, firstSettings(subscription));
}

async function change(subscription: Row, context: HandlerContext, edit: (message: DeliverySettings) => void) {
  const row = await rowToChange(subscription, context);
  const before = messageOf(deliverySettings, row);
  const after = clone(DeliverySettingsSchema, before);
  edit(after);
  const isSame = equals(DeliverySettingsSchema, before, after);
  return toResponse(
    deliverySettings,
    isSame ? row : await rewriteResource(deliverySettings, row, after, context),
    context,
  );
}

/** The settings of a subscription that has none stored; they are as old as it is. */
function firstSettings(subscription: Row): Row {
  const { uid, parent, createTimeUs } = subscription;
  const content = contentOf(deliverySettings, create(DeliverySettingsSchema));
  return { uid, parent, version: 1, createTimeUs, updateTimeUs: createTimeUs, ...content };
}
