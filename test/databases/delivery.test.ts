/**
 * Delivery on a real database: what is recorded arrives, once as a rule and at least once always, and nothing else
 * does.
 */
import { beforeEach, expect, test } from "vitest";
import { deliveriesOf, forgetDelivered, readEvents, recordEvent, replay } from "../../src/delivery/index.ts";
import { newUid } from "../../src/new-uid.ts";
import type { Database } from "../../src/store/index.ts";
import { createDeliverer, eventIn } from "../delivery/deliverer.ts";
import { startSink } from "../delivery/sinks.ts";
import { onEveryDatabase } from "./databases.ts";

const hourMs = 3_600_000;
const idOf = ({ headers }: { headers: Record<string, unknown> }) => String(headers["ce-id"]);

onEveryDatabase("delivery", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });

  test("an event goes to the subscriptions of its group and of those above, to nobody else, with its own words", async () => {
    const { subscriptions, start, record, deliveries } = createDeliverer(db);
    const [root, elsewhere] = [newUid(""), newUid("")];
    const group = newUid(root);
    const [good, stranger] = [await startSink(), await startSink()];
    const uids = [subscriptions.add(root, good.url), subscriptions.add(group, good.url)].sort();
    for (const place of [newUid(group), newUid(root), elsewhere]) subscriptions.add(place, stranger.url);
    const disabled = subscriptions.add(group, stranger.url);
    await subscriptions.disable(disabled, 1);
    subscriptions.add(group, stranger.url, Date.now() + 2 * hourMs);
    start();
    const event = eventIn(group, { extensions: { group, bodytype: "platform.iam.v2.Group" } });
    await record(event);
    await expect.poll(() => good.received).toHaveLength(2);
    await expect.poll(async () => (await deliveries()).map(({ state }) => state)).toEqual(["delivered", "delivered"]);
    expect(stranger.connections()).toBe(0);
    const [first, second] = good.received;
    expect(idOf(first!)).toBe(idOf(second!));
    expect(first).toMatchObject({
      method: "POST",
      path: "/hook",
      body: event.data,
      headers: {
        "ce-specversion": "1.0",
        "ce-type": event.type,
        "ce-source": event.source,
        "ce-subject": event.subject,
        "ce-time": new Date(event.timeMs).toISOString(),
        "ce-group": group,
        "ce-bodytype": "platform.iam.v2.Group",
        "ce-audience": "customer",
        "content-type": "application/json",
      },
    });
    expect((await deliveries()).map(({ subscription }) => subscription).sort()).toEqual(uids);
    const stored = (await readEvents(db.read, [idOf(first!), "no"])).get(idOf(first!))!;
    expect(stored).toEqual({ ...event, id: idOf(first!) });
    expect(await deliveriesOf(db, stored)).toMatchObject({
      isWaiting: false,
      deliveries: uids.map((subscription) => ({ subscription, state: "delivered", attempts: 1, lastResult: "204" })),
    });
  });

  test("what is rolled back is never heard of", async () => {
    const { subscriptions, start, record } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink();
    subscriptions.add(group, sink.url);
    start();
    const failing = db.transact(async (session) => {
      await recordEvent(session, eventIn(group), subscriptions.hasAny);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    await record(eventIn(group, { data: '"real"' }));
    await expect.poll(() => sink.received).toHaveLength(1);
    expect(sink.received[0]!.body).toBe('"real"');
  });

  test("what nobody has subscribed to waits for nothing, and is not heard later", async () => {
    const { subscriptions, start, record, deliveries } = createDeliverer(db);
    const [group, sink] = [newUid(""), await startSink()];
    subscriptions.add(newUid(group), sink.url);
    await record(eventIn(group));
    expect(await db.queue("deliveries").depths("pending")).toEqual([]);
    subscriptions.add(group, sink.url);
    await record(eventIn(newUid(group), { data: '"second"' }));
    expect(await db.queue("deliveries").depths("pending")).toMatchObject([{ count: 1 }]);
    start();
    await expect.poll(() => sink.received).toHaveLength(1);
    expect(sink.received[0]!.body).toBe('"second"');
    await expect.poll(() => deliveries()).toMatchObject([{ state: "delivered" }]);
  });

  test("a subscription hears nothing of its own making", async () => {
    const { subscriptions, start, record } = createDeliverer(db);
    const group = newUid("");
    const [own, other] = [await startSink(), await startSink()];
    const uid = subscriptions.add(group, own.url);
    subscriptions.add(group, other.url);
    start();
    await record(eventIn(group, { subject: uid }), eventIn(group));
    await expect.poll(() => other.received).toHaveLength(2);
    await expect.poll(() => own.received).toHaveLength(1);
  });

  test("what fails comes again with the same id until it is taken, and its sink is left alone as long as it asks", async () => {
    const { subscriptions, start, record, deliveries, pass, now } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink((n) => [500, { status: 429, headers: { "retry-after": "1800" } }, 202][n] ?? 204);
    subscriptions.add(group, sink.url);
    start();
    await record(eventIn(group));
    await expect.poll(() => deliveries()).toMatchObject([{ attempts: 1, lastResult: "500" }]);
    expect((await deliveries())[0]!.nextAttemptTimeMs).toBeGreaterThan(now());
    pass(hourMs);
    await expect.poll(() => deliveries()).toMatchObject([{ attempts: 2, lastResult: "429" }]);
    expect((await deliveries())[0]!.nextAttemptTimeMs! - now()).toBeGreaterThan(1_790_000 - 10_000);
    pass(hourMs);
    await expect.poll(() => deliveries()).toMatchObject([{ state: "delivered", attempts: 3 }]);
    expect(new Set(sink.received.map(idOf)).size).toBe(1);
    expect(sink.received).toHaveLength(3);
  });

  test("after 24 hours it is dead, stays to be seen, and can be sent again", async () => {
    const { subscriptions, start, record, deliveries, pass, now } = createDeliverer(db);
    const group = newUid("");
    let status = 503;
    const sink = await startSink(() => status);
    subscriptions.add(group, sink.url);
    start();
    await record(eventIn(group));
    await expect.poll(() => deliveries()).toMatchObject([{ attempts: 1 }]);
    pass(25 * hourMs);
    await expect.poll(() => deliveries()).toMatchObject([{ state: "dead", attempts: 2 }]);
    const dead = await deliveries({ state: "dead" });
    expect(dead[0]).toMatchObject({ lastResult: "503", nextAttemptTimeMs: undefined });
    status = 200;
    expect(await replay(db, [...dead, { eventId: "no", subscription: "no" }], now())).toBe(1);
    await expect.poll(() => deliveries()).toMatchObject([{ state: "delivered", attempts: 1 }]);
    expect(new Set(sink.received.map(idOf)).size).toBe(1);
  });

  test("410 disables the subscription and drops what waits for it", async () => {
    const { subscriptions, start, record, deliveries } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink(() => 410);
    const uid = subscriptions.add(group, sink.url);
    await record(...Array.from({ length: 20 }, () => eventIn(group)));
    start();
    await expect.poll(() => deliveries()).toMatchObject([{ state: "dead", lastResult: "410" }]);
    expect([...subscriptions.disabled.keys()]).toEqual([uid]);
    await record(eventIn(group));
    expect(sink.received).toHaveLength(1);
  });

  test("deleting a subscription stops its deliveries, however many wait", async () => {
    const { subscriptions, start, record, deliveries, unsubscribe, pass } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink(() => 500);
    const uid = subscriptions.add(group, sink.url);
    await record(...Array.from({ length: 300 }, () => eventIn(group)));
    start();
    await expect.poll(() => sink.received.length).toBeGreaterThan(0);
    await expect.poll(() => deliveries()).toHaveLength(300);
    await unsubscribe(uid);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { length } = sink.received;
    pass(2 * hourMs);
    await expect.poll(() => deliveries()).toEqual([]);
    expect(sink.received).toHaveLength(length);
  });

  test("several processes share the work: each delivery is made once", async () => {
    const { subscriptions, start, record, deliveries } = createDeliverer(db);
    const group = newUid("");
    const sinks = [await startSink(), await startSink()];
    for (const { url } of sinks) subscriptions.add(group, url);
    start();
    start({ database: await database().open() });
    for (let i = 0; i < 10; i++) await record(...Array.from({ length: 20 }, () => eventIn(group)));
    await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(400);
    for (const { received } of sinks) {
      expect(received).toHaveLength(200);
      expect(new Set(received.map(idOf)).size).toBe(200);
    }
  });

  test("what a process had when it died is delivered once its lease runs out, and not before", async () => {
    const { subscriptions, start, record, deliveries, pass, now } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink();
    const uid = subscriptions.add(group, sink.url);
    const first = start();
    await record(eventIn(group));
    await expect.poll(() => sink.received).toHaveLength(1);
    await first.stop();
    await record(eventIn(group), eventIn(group));
    const queue = db.queue("deliveries");
    // It had fanned out one event, had leased the other's fan-out, and had leased the delivery.
    const lease = (partition: string) =>
      queue.lease({ partition, nowUs: now() * 1000, untilUs: (now() + 60_000) * 1000, limit: 1 });
    const [fannedOut] = await lease("");
    await queue.add([{ ...fannedOut!, partition: uid, expireUs: (now() + hourMs) * 1000 }]);
    await queue.remove("", [fannedOut!.id]);
    expect([...(await lease("")), ...(await lease(uid))]).toHaveLength(2);
    start();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sink.received).toHaveLength(1);
    pass(61_000);
    await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(3);
    expect(new Set(sink.received.map(idOf)).size).toBe(3);
  });

  test("stopping finishes what is under way and leaves the rest to the next", async () => {
    const { subscriptions, start, record, deliveries } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink();
    subscriptions.add(group, sink.url);
    await record(...Array.from({ length: 300 }, () => eventIn(group)));
    const first = start();
    await expect.poll(() => sink.received.length).toBeGreaterThan(10);
    await first.stop();
    const delivered = await deliveries({ state: "delivered" });
    expect(delivered).toHaveLength(sink.received.length);
    expect(delivered.length).toBeLessThan(300);
    start();
    await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(300);
    expect(sink.received).toHaveLength(300);
  });

  test("old events are forgotten with what became of them, and with what waits", async () => {
    const { subscriptions, start, record, deliveries, now } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink((_n, { body }) => (body === '"bad"' ? 500 : 204));
    subscriptions.add(group, sink.url);
    start();
    const dayMs = 24 * hourMs;
    await record(
      eventIn(group, { timeMs: now() - 3 * dayMs }),
      eventIn(group, { timeMs: now() - 2 * dayMs }),
      eventIn(group),
    );
    await record(eventIn(group, { data: '"bad"' }));
    await expect.poll(async () => (await deliveries()).map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1]);
    const [oldest] = await deliveries();
    while (await forgetDelivered(db, now() - 2.5 * dayMs));
    expect(await deliveries()).toHaveLength(3);
    expect(await readEvents(db.read, [oldest!.eventId])).toEqual(new Map());
    while (await forgetDelivered(db, now() + dayMs));
    expect(await deliveries()).toEqual([]);
  });

  test("what a subscription has filtered out is not delivered to it", async () => {
    const { subscriptions, start, record } = createDeliverer(db);
    const group = newUid("");
    const [all, some] = [await startSink(), await startSink()];
    subscriptions.add(group, all.url);
    subscriptions.change(subscriptions.add(group, some.url), { eventTypes: ["a.b.v1", "c.*"] });
    start();
    const types = ["a.b.v1", "a.b.v12", "c.d.v1", "cd.v1", "c.", "C.d.v1"];
    await record(...types.map((type) => eventIn(group, { type })));
    const typesAt = (sink: typeof all) => sink.received.map(({ headers }) => headers["ce-type"]).sort();
    await expect.poll(() => typesAt(all)).toEqual(types.toSorted());
    await expect.poll(() => typesAt(some)).toEqual(["a.b.v1", "c.", "c.d.v1"]);
  });

  test("while a subscription is paused its events wait; then they come in order, by whichever process", async () => {
    const { subscriptions, start, record, deliveries, now } = createDeliverer(db);
    const group = newUid("");
    const [sink, other] = [await startSink(), await startSink()];
    const uid = subscriptions.add(group, sink.url);
    subscriptions.add(group, other.url);
    subscriptions.change(uid, { isPaused: true });
    start();
    start();
    const startMs = now() - 1000;
    const numbers = Array.from({ length: 150 }, (_, n) => n);
    for (const n of numbers) await record(eventIn(group, { timeMs: startMs + n, data: `${n}` }));
    await expect.poll(() => other.received).toHaveLength(numbers.length);
    await expect.poll(() => deliveries({ subscription: uid, state: "pending" })).toHaveLength(numbers.length);
    expect(sink.received).toEqual([]);
    subscriptions.change(uid, { isPaused: false, resumeTimeMs: now() });
    await expect.poll(() => sink.received).toHaveLength(numbers.length);
    expect(sink.received.map(({ body }) => Number(body))).toEqual(numbers);
    await record(eventIn(group, { data: "later" }));
    await expect.poll(() => sink.received.at(-1)?.body).toBe("later");
  });

  test("what waited longer than 24 hours has 24 more once its subscription is resumed, and no failure holds up others", async () => {
    const { subscriptions, start, record, deliveries, pass, now } = createDeliverer(db);
    const group = newUid("");
    const sink = await startSink((_n, { body }) => (body === "0" ? 500 : 204));
    const uid = subscriptions.add(group, sink.url);
    subscriptions.change(uid, { isPaused: true });
    start();
    for (const n of [0, 1, 2]) await record(eventIn(group, { timeMs: now() + n, data: `${n}` }));
    await expect.poll(() => deliveries({ state: "pending" })).toHaveLength(3);
    pass(48 * hourMs);
    subscriptions.change(uid, { isPaused: false, resumeTimeMs: now() });
    await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(2);
    expect(await deliveries({ state: "pending" })).toMatchObject([{ attempts: 1, lastResult: "500" }]);
    pass(23 * hourMs);
    await expect.poll(async () => (await deliveries({ state: "pending" }))[0]?.attempts).toBe(2);
    pass(2 * hourMs);
    await expect.poll(() => deliveries({ state: "dead" })).toHaveLength(1);
  });

  test("the operator reads deliveries in order, by state, by subscription, by time", async () => {
    const { subscriptions, start, record, deliveries, now } = createDeliverer(db);
    const group = newUid("");
    const uids = [
      subscriptions.add(group, (await startSink()).url),
      subscriptions.add(group, (await startSink(() => 400)).url),
    ];
    await record(...[5, 3, 9, 1].map((n) => eventIn(group, { timeMs: now() - n * 1000 })));
    const sinceMs = now() - 6000;
    start();
    await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(4);
    const times = (await deliveries()).map(({ eventTimeMs }) => eventTimeMs);
    expect(times).toHaveLength(8);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(await deliveries({ subscription: uids[1] })).toHaveLength(4);
    expect(await deliveries({ subscription: uids[0], state: "pending" })).toEqual([]);
    expect(await deliveries({ sinceMs })).toHaveLength(6);
  });
});
