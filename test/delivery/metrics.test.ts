/** Metrics as Prometheus reads them. */
import { expect, onTestFinished, test } from "vitest";
import { serveMetrics } from "../../src/delivery/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { newUid } from "../../src/uid.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import { createDeliverer, eventIn } from "./deliverer.ts";
import { startSink } from "./sinks.ts";

test("tell what waits, what is dead, how old it is, and how attempts end", async () => {
  const database = await openDatabase(`sqlite:${await temporaryFolder()}/platform.db`);
  onTestFinished(() => database.close());
  await database.migrate();
  const metrics = await serveMetrics({ database, listen: { host: "127.0.0.1", port: 0 }, now: () => Date.now() });
  onTestFinished(() => metrics.close());
  const read = async () => (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text();
  expect(await read()).toContain('platform_deliveries{state="pending"} 0\n');
  const { subscriptions, start, record, deliveries } = createDeliverer(database, { onAttempt: metrics.countAttempt });
  const group = newUid("");
  subscriptions.add(group, (await startSink()).url);
  subscriptions.add(group, (await startSink(() => 503)).url);
  subscriptions.add(group, (await startSink(() => 410)).url);
  await record(eventIn(group, { timeMs: Date.now() - 60_000 }));
  expect(await read()).toMatch(/platform_delivery_oldest_pending_age(?:_seconds)? 6\d/);
  start();
  await expect.poll(async () => (await deliveries()).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  const text = await read();
  expect(text).toContain('platform_deliveries{state="pending"} 1\n');
  expect(text).toContain('platform_deliveries{state="dead"} 1\n');
  for (const [result, count] of Object.entries({ "2xx": 1, "4xx": 1, "5xx": 1 }))
    expect(text).toContain(`platform_delivery_attempts_total{result="${result}"} ${count}\n`);
  expect((await fetch(`http://127.0.0.1:${metrics.port}/other`)).status).toBe(404);
});
