/** Supplies `delivery` with the subscriptions of the database, read again for each batch of deliveries. */

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { SubscriptionSchema } from "../../../gen/platform/events/v2/subscriptions_pb.ts";
import type { SubscriptionSource } from "../../delivery/index.ts";
import { contentOf, messageOf, type Resource, type Secrets } from "../../resource/index.ts";
import type { Database } from "../../store/index.ts";
import { secretPlace } from "./signing-secret.ts";

/** What {@link subscriptionSource} needs. */
export interface SubscriptionSourceOptions {
  readonly database: Database;
  /** Decrypts the signing secrets. */
  readonly secrets: Secrets;
}

/** The subscriptions of a database. Errors: a plain Error for a signing secret that was sealed with an unknown key. */
export function createSubscriptionSource(
  subscriptions: Resource<typeof SubscriptionSchema>,
  { database, secrets }: SubscriptionSourceOptions,
): SubscriptionSource {
  const { table } = subscriptions;
  return {
    async inGroups(groups) {
      const rows = await database.read.list(table, {
        where: [{ column: "parent", in: groups }],
        limit: Number.MAX_SAFE_INTEGER,
      });
      return rows
        .filter((row) => messageOf(subscriptions, row).disableTime === undefined)
        .map(({ uid, createTimeUs }) => ({ uid, createTimeMs: createTimeUs / 1000 }));
    },

    async get(uid) {
      const row = await database.read.get(table, uid);
      if (row === undefined) return undefined;
      const { sink, disableTime, signingSecret } = messageOf(subscriptions, row);
      if (disableTime !== undefined) return undefined;
      const opened = secrets.open(signingSecret, secretPlace(uid));
      if (opened === undefined) throw new Error(`the signing secret of ${uid} was sealed by another key`);
      return { uid, sink, signingSecret: opened };
    },

    disable: (uid, nowMs) =>
      database.transact(async (session) => {
        const row = await session.get(table, uid);
        if (row === undefined) return;
        const subscription = messageOf(subscriptions, row);
        if (subscription.disableTime !== undefined) return;
        subscription.disableTime = timestampFromMs(nowMs);
        await session.update(table, { ...row, ...contentOf(subscriptions, subscription), updateTimeUs: nowMs * 1000 });
      }),
  };
}
