/** How many deliveries of a subscription a call looks at. */
import { expect, test } from "vitest";
import { countOfSubscription, listDeliveries, replayDeliveries } from "../../src/delivery/index.ts";
import { newUid } from "../../src/new-uid.ts";
import { onEveryDatabase } from "./databases.ts";

onEveryDatabase("more than 1000 deliveries of a subscription", (database) => {
  test("are counted, listed by type and replayed 1000 at a time", async () => {
    const db = await database().open();
    const subscription = newUid(newUid(""));
    const all = Array.from({ length: 1001 }, (_, i) => ({
      partition: subscription,
      id: `${i}`,
      timeUs: i,
      expireUs: 9,
    }));
    await db.queue("deliveries").add(all);
    const filter = { subscription, state: undefined, type: undefined, sinceMs: undefined, untilMs: undefined };
    expect(await countOfSubscription(db.read, filter)).toEqual({ count: 1000, isEstimated: true });
    const ofType = { ...filter, type: "a.b" };
    const part = { after: undefined, skip: 0, limit: 10 };
    expect(await listDeliveries(db.read, ofType, part)).toMatchObject({ deliveries: [], last: { id: "1", timeUs: 1 } });
    const replay = (more: object) => db.transact((session) => replayDeliveries(session, { ...filter, ...more }, 1));
    expect(await replay({})).toEqual({ count: 1000, hasMore: true });
    await db.queue("deliveries").remove(subscription, ["0"]);
    expect(await replay({})).toEqual({ count: 1000, hasMore: false });
    expect(await countOfSubscription(db.read, filter)).toEqual({ count: 1000, isEstimated: false });
  });
});
