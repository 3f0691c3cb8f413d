/** What is counted of deliveries, for metrics. */
import { expect, onTestFinished, test } from "vitest";
import { AttemptCounts, depthsOfDeliveries, oldestPendingSeconds } from "../../src/delivery/index.ts";
import { newUid } from "../../src/new-uid.ts";
import { openDatabase } from "../../src/store/index.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import { createDeliverer, eventIn } from "./deliverer.ts";
import { startSink } from "./sinks.ts";

async function migrated() {
  const database = await openDatabase(`sqlite:${await temporaryFolder()}/platform.db`);
  onTestFinished(() => database.close());
  await database.migrate();
  return database;
}

test("at most 20 subscriptions have their own series; all others share one", async () => {
  const database = await migrated();
  const attempts = new AttemptCounts();
  const group = newUid("");
  const attempt = { outcome: "failed", result: "tls: self-signed certificate", retryAfterMs: 0 } as const;
  for (let i = 0; i < 150; i++) {
    const subscription = newUid(group);
    attempts.count(attempt, subscription);
    const entries = Array.from({ length: i < 20 ? 2 : 1 }, (_, id) => ({
      partition: subscription,
      id: String(id),
      timeUs: 1,
      expireUs: 9,
    }));
    await database.queue("deliveries").add(entries);
  }
  await database.queue("deliveries").add([{ partition: "", id: "new", timeUs: 1, expireUs: 9 }]);
  expect(attempts.counts).toHaveLength(21);
  const labels = { result: "tls: self-signed certificate", subscription: "other" };
  expect(attempts.counts).toContainEqual({ labels, value: 130 });
  const pending = (await depthsOfDeliveries(database)).filter(({ labels }) => labels.state === "pending");
  expect(pending).toHaveLength(21);
  expect(pending).toContainEqual({ labels: { state: "pending", subscription: "other" }, value: 131 });
});

test("pending and dead deliveries, the age of the oldest, and results of attempts", async () => {
  const database = await migrated();
  const attempts = new AttemptCounts();
  expect(await depthsOfDeliveries(database)).toContainEqual({
    labels: { state: "pending", subscription: "other" },
    value: 0,
  });
  const { subscriptions, start, record, deliveries } = createDeliverer(database, {
    onAttempt: (attempt, subscription) => attempts.count(attempt, subscription),
  });
  const oldest = () => oldestPendingSeconds(database, subscriptions, Date.now());
  expect(await oldest()).toBe(0);
  const group = newUid("");
  const taking = subscriptions.add(group, (await startSink()).url);
  const failing = subscriptions.add(group, (await startSink(() => 503)).url);
  const gone = subscriptions.add(group, (await startSink(() => 410)).url);
  await record(eventIn(group, { timeMs: Date.now() - 60_000 }));
  expect(await oldest()).toBeGreaterThanOrEqual(60);
  start();
  await expect.poll(async () => (await deliveries()).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  const depths = await depthsOfDeliveries(database);
  expect(depths).toContainEqual({ labels: { state: "pending", subscription: failing }, value: 1 });
  expect(depths).toContainEqual({ labels: { state: "dead", subscription: gone }, value: 1 });
  for (const [result, subscription] of Object.entries({ "2xx": taking, "4xx": gone, "5xx": failing }))
    expect(attempts.counts).toContainEqual({ labels: { result, subscription }, value: 1 });
  expect(await oldest()).toBeGreaterThanOrEqual(60);
  subscriptions.change(failing, { isPaused: true });
  expect(await oldest()).toBe(0);
});
