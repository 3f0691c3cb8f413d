/** Metrics as Prometheus scrapes them. */
import { expect, onTestFinished, test } from "vitest";
import { serveMetrics } from "../../src/delivery/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { newUid } from "../../src/uid.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import { createDeliverer, eventIn } from "./deliverer.ts";
import { startSink } from "./sinks.ts";

test("at most 100 subscriptions have their own series; all others share one", async () => {
  const database = await openDatabase(`sqlite:${await temporaryFolder()}/platform.db`);
  onTestFinished(() => database.close());
  await database.migrate();
  const metrics = await serveMetrics({ database, listen: { host: "127.0.0.1", port: 0 }, now: () => Date.now() });
  onTestFinished(() => metrics.close());
  const group = newUid("");
  const attempt = { outcome: "failed", result: "tls: self-signed certificate", retryAfterMs: 0 } as const;
  for (let i = 0; i < 150; i++) {
    const subscription = newUid(group);
    metrics.countAttempt(attempt, subscription);
    const entries = Array.from({ length: i < 100 ? 2 : 1 }, (_, id) => ({
      partition: subscription,
      id: String(id),
      timeUs: 1,
      expireUs: 9,
    }));
    await database.queue("deliveries").add(entries);
  }
  await database.queue("deliveries").add([{ partition: "", id: "new", timeUs: 1, expireUs: 9 }]);
  const text = await (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text();
  const series = (name: string) => text.split("\n").filter((line) => line.startsWith(`${name}{`));
  expect(series("platform_delivery_attempts_total")).toHaveLength(101);
  expect(text).toContain(
    'platform_delivery_attempts_total{result="tls: self-signed certificate",subscription="other"} 50\n',
  );
  const pending = series("platform_deliveries").filter((line) => line.includes('state="pending"'));
  expect(pending).toHaveLength(101);
  expect(pending).toContain('platform_deliveries{state="pending",subscription="other"} 51');
});

test("report pending and dead deliveries, the age of the oldest, and results of attempts", async () => {
  const database = await openDatabase(`sqlite:${await temporaryFolder()}/platform.db`);
  onTestFinished(() => database.close());
  await database.migrate();
  const metrics = await serveMetrics({ database, listen: { host: "127.0.0.1", port: 0 }, now: () => Date.now() });
  onTestFinished(() => metrics.close());
  const read = async () => (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text();
  expect(await read()).toContain('platform_deliveries{state="pending",subscription="other"} 0\n');
  const { subscriptions, start, record, deliveries } = createDeliverer(database, { onAttempt: metrics.countAttempt });
  const group = newUid("");
  const taking = subscriptions.add(group, (await startSink()).url);
  const failing = subscriptions.add(group, (await startSink(() => 503)).url);
  const gone = subscriptions.add(group, (await startSink(() => 410)).url);
  await record(eventIn(group, { timeMs: Date.now() - 60_000 }));
  expect(await read()).toMatch(/platform_delivery_oldest_pending_age(?:_seconds)? 6\d/);
  start();
  await expect.poll(async () => (await deliveries()).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  const text = await read();
  expect(text).toContain(`platform_deliveries{state="pending",subscription="${failing}"} 1\n`);
  expect(text).toContain(`platform_deliveries{state="dead",subscription="${gone}"} 1\n`);
  for (const [result, subscription] of Object.entries({ "2xx": taking, "4xx": gone, "5xx": failing }))
    expect(text).toContain(`platform_delivery_attempts_total{result="${result}",subscription="${subscription}"} 1\n`);
  expect((await fetch(`http://127.0.0.1:${metrics.port}/other`)).status).toBe(404);
});

test("counters of other parts are shown as they are at the time", async () => {
  const database = await openDatabase("sqlite::memory:");
  await database.migrate();
  const values = new Map([["a", 1]]);
  const counters = [{ name: "platform_v1_calls", description: "Calls.", label: "method", values }];
  const listen = { host: "127.0.0.1", port: 0 };
  const metrics = await serveMetrics({ database, listen, now: () => Date.now(), counters });
  values.set("a", 2).set("b", 3);
  const text = await (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text();
  expect(text).toContain('platform_v1_calls_total{method="a"} 2');
  expect(text).toContain('platform_v1_calls_total{method="b"} 3');
  await metrics.close();
  await database.close();
});
