/** Supplies `delivery` with the subscriptions of the database, read again for each batch of deliveries. */

import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { SubscriptionSource } from "../../delivery/index.ts";
import { contentOf, messageOf, type Secrets } from "../../resource/index.ts";
import type { Database } from "../../store/index.ts";
import { deliverySettings as settings } from "./delivery-settings.ts";
import { openSigningSecrets } from "./signing-secret.ts";
import { subscriptions } from "./subscriptions.ts";

/** What {@link subscriptionSource} needs. */
interface SubscriptionSourceOptions {
  readonly database: Database;
  /** Decrypts the signing secrets. */
  readonly secrets: Secrets;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The subscriptions of a database. Errors: a plain Error for a signing secret that was sealed with an unknown key. */
export function subscriptionSource({ database, secrets, now }: SubscriptionSourceOptions): SubscriptionSource {
  const { table } = subscriptions;
  return {
    async inGroups(groups) {
      const rows = await database.read.list(table, {
        where: [{ column: "parent", in: groups }],
        limit: Number.MAX_SAFE_INTEGER,
      });
      const enabled = rows.filter((row) => messageOf(subscriptions, row).disableTime === undefined);
      const uids = enabled.map(({ uid }) => uid);
      const stored = await database.read.getMany(settings.table, uids);
      return enabled.map(({ uid, createTimeUs }) => {
        const row = stored.get(uid);
        return {
          uid,
          createTimeMs: createTimeUs / 1000,
          eventTypes: row === undefined ? [] : messageOf(settings, row).eventTypes,
        };
      });
    },

    async get(uid) {
      const row = await database.read.get(table, uid);
      if (row === undefined) return undefined;
      const { sink, disableTime, signingSecret } = messageOf(subscriptions, row);
      if (disableTime !== undefined) return undefined;
      const [current = "", ...former] = openSigningSecrets(secrets, uid, signingSecret);
      const stored = await database.read.get(settings.table, uid);
      const { pauseTime, resumeTime, formerSecretExpireTime } = stored ? messageOf(settings, stored) : {};
      const isOverlap = formerSecretExpireTime !== undefined && now() < timestampMs(formerSecretExpireTime);
      return {
        uid,
        sink,
        signingSecrets: isOverlap ? [current, ...former] : [current],
        isPaused: pauseTime !== undefined,
        resumeTimeMs: resumeTime === undefined ? 0 : timestampMs(resumeTime),
      };
    },

    async pausedAmong(uids) {
      const stored = await database.read.getMany(settings.table, uids);
      const paused = [...stored.values()].filter((row) => messageOf(settings, row).pauseTime !== undefined);
      return new Set(paused.map(({ uid }) => uid));
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
