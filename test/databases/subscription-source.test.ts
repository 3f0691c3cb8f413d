/**
 * Subscriptions as delivery sees them: the enabled ones of some groups, each with its secret, until its sink is gone.
 */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, expect, test } from "vitest";
import { type DeliverySettings, DeliverySettingsSchema } from "../../gen/platform/delivery/v1/deliveries_pb.ts";
import { SubscriptionSchema } from "../../gen/platform/events/v2/subscriptions_pb.ts";
import type { SubscriptionSource } from "../../src/delivery/index.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf, createSecrets, messageOf, newRow, type Secrets } from "../../src/resource/index.ts";
import { deliverySettings as settings } from "../../src/services/events/delivery-settings.ts";
import { subscriptionSource } from "../../src/services/events/subscription-source.ts";
import { subscriptions } from "../../src/services/events/subscriptions.ts";
import type { Database } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const sink = "https://receiver.example.com/";
const madeMs = Date.UTC(2026, 10, 21);

onEveryDatabase("the source of subscriptions", (opened) => {
  let database: Database;
  let secrets: Secrets;
  let source: SubscriptionSource;
  let nowMs: number;
  const now = () => nowMs;
  beforeEach(async () => {
    nowMs = madeMs;
    database = await opened().open();
    secrets = createSecrets([randomBytes(32)]);
    source = subscriptionSource({ database, secrets, now });
  });

  async function make(group: string, secret = "whsec_secret"): Promise<string> {
    const uid = newUid(group);
    const signingSecret = secrets.seal(secret, `${uid} signing_secret`);
    const content = contentOf(subscriptions, create(SubscriptionSchema, { sink, signingSecret }));
    const spine = { uid, parent: group, createTimeUs: madeMs * 1000, updateTimeUs: madeMs * 1000 };
    await database.transact((session) => session.insert(subscriptions.table, { ...spine, ...content }));
    return uid;
  }
  const inGroups = async (...uids: string[]) => (await source.inGroups(uids)).map(({ uid }) => uid).sort();

  test("gives those directly in the groups asked for", async () => {
    const above = newUid("");
    const group = newUid(above);
    const [first, second, third] = [await make(above), await make(group), await make(group)];
    await make(newUid(group));
    expect(await inGroups(above, group)).toEqual([first, second, third].sort());
    expect(await inGroups(above)).toEqual([first]);
    expect(await inGroups(newUid(""))).toEqual([]);
    expect(await inGroups()).toEqual([]);
    expect(await source.inGroups([above])).toEqual([{ uid: first, createTimeMs: madeMs, eventTypes: [] }]);
  });

  test("gives each with its secret, as long as it is there", async () => {
    const uid = await make(newUid(""));
    expect(await source.get(uid)).toEqual({
      uid,
      sink,
      signingSecrets: ["whsec_secret"],
      isPaused: false,
      resumeTimeMs: 0,
    });
    await database.transact((session) => session.remove(subscriptions.table, uid));
    expect(await source.get(uid)).toBeUndefined();
  });

  test("gives the settings of each that has some", async () => {
    const group = newUid("");
    const [uid, other] = [await make(group), await make(group)];
    const at = (ms: number) => timestampFromMs(madeMs + ms);
    const store = async (message: DeliverySettings, version?: number) => {
      const row = { ...newRow(uid, group, madeMs, contentOf(settings, message)) };
      await database.transact((session) =>
        version === undefined
          ? session.insert(settings.table, row)
          : session.update(settings.table, { ...row, version }),
      );
    };
    await store(create(DeliverySettingsSchema, { eventTypes: ["a.*"], pauseTime: at(1), resumeTime: at(-5) }));
    expect(await source.get(uid)).toMatchObject({ isPaused: true, resumeTimeMs: madeMs - 5 });
    expect(await source.pausedAmong([uid, other, ""])).toEqual(new Set([uid]));
    const types = (await source.inGroups([group])).map(({ uid, eventTypes }) => [uid, eventTypes]);
    expect(Object.fromEntries(types)).toEqual({ [uid]: ["a.*"], [other]: [] });
    await store(create(DeliverySettingsSchema, {}), 1);
    expect(await source.get(uid)).toMatchObject({ isPaused: false, resumeTimeMs: 0 });
    expect(await source.pausedAmong([uid, other])).toEqual(new Set());
  });

  test("gives the secret before until its time is over", async () => {
    const group = newUid("");
    const uid = await make(group, "whsec_new whsec_old");
    expect((await source.get(uid))?.signingSecrets).toEqual(["whsec_new"]);
    const message = create(DeliverySettingsSchema, { formerSecretExpireTime: timestampFromMs(madeMs + 1) });
    await database.transact((session) =>
      session.insert(settings.table, newRow(uid, group, madeMs, contentOf(settings, message))),
    );
    expect((await source.get(uid))?.signingSecrets).toEqual(["whsec_new", "whsec_old"]);
    nowMs++;
    expect((await source.get(uid))?.signingSecrets).toEqual(["whsec_new"]);
  });

  test("gives none whose secret it cannot open, and does not say that it is gone", async () => {
    const uid = await make(newUid(""));
    const other = subscriptionSource({
      database,
      secrets: createSecrets([randomBytes(32)]),
      now,
    });
    await expect(other.get(uid)).rejects.toThrow("was sealed by another key");
  });

  test("gives none that is disabled, and says when that was", async () => {
    const group = newUid("");
    const uid = await make(group);
    await source.disable(uid, madeMs + 5000);
    await source.disable(uid, madeMs + 9000);
    expect(await source.get(uid)).toBeUndefined();
    expect(await inGroups(group)).toEqual([]);
    const row = (await database.read.get(subscriptions.table, uid))!;
    expect(row.version).toBe(2);
    const { disableTime, updateTime } = messageOf(subscriptions, row);
    expect([disableTime, updateTime].map((time) => Number(time?.seconds))).toEqual(Array(2).fill(madeMs / 1000 + 5));
  });

  test("takes it that one is gone when its sink is", async () => {
    await source.disable(newUid(newUid("")), madeMs);
  });
});
