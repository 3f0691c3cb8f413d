/** Faults of a sink do not affect other subscriptions; concurrency and back-off follow the sink's responses. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { newUid } from "../../src/new-uid.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import { createDeliverer, eventIn } from "./deliverer.ts";
import { hostileSinks, startSink } from "./sinks.ts";

const hourMs = 3_600_000;

/** Starts a sink with its own timing. Returns its URL. */
async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function emptyDatabase(): Promise<Database> {
  const database = await openDatabase(`sqlite:${await temporaryFolder()}/platform.db`);
  onTestFinished(() => database.close());
  await database.migrate();
  return database;
}

test("a good sink beside all hostile ones receives every event before any attempt at the others times out", async () => {
  const { subscriptions, start, record, deliveries, reports } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  for (const open of Object.values(hostileSinks)) subscriptions.add(group, (await open()).url);
  const good = await startSink();
  const uid = subscriptions.add(group, good.url);
  await record(...Array.from({ length: 200 }, () => eventIn(group)));
  start({ attemptTimeoutMs: 3000 });
  await expect.poll(() => good.received).toHaveLength(200);
  expect((await deliveries()).filter(({ lastResult }) => lastResult === "timeout")).toEqual([]);
  await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(200);
  expect((await deliveries({ state: "delivered" })).every(({ subscription }) => subscription === uid)).toBe(true);
  expect(reports).toEqual([]);
});

test("the concurrency starts at 1 and grows with successes, up to 16", async () => {
  const { subscriptions, start, record } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  const concurrency: number[] = [];
  let inProgress = 0;
  const url = await startServer((request, response) => {
    concurrency.push(++inProgress);
    request.resume();
    setTimeout(() => {
      inProgress--;
      response.writeHead(204).end();
    }, 20);
  });
  subscriptions.add(group, url);
  await record(...Array.from({ length: 300 }, () => eventIn(group)));
  start();
  await expect.poll(() => concurrency).toHaveLength(300);
  expect(concurrency[0]).toBe(1);
  expect(concurrency[1]).toBeLessThanOrEqual(2);
  expect(Math.max(...concurrency)).toBe(16);
});

test("after three failures the worker backs off: other deliveries lose no attempt", async () => {
  const { subscriptions, start, record, deliveries, pass } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  let status = 503;
  const sink = await startSink(() => status);
  subscriptions.add(group, sink.url);
  await record(...Array.from({ length: 100 }, () => eventIn(group)));
  start();
  await expect.poll(async () => (await deliveries()).filter(({ attempts }) => attempts > 0)).toHaveLength(3);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(sink.received.length).toBeLessThanOrEqual(4);
  status = 200;
  pass(2 * hourMs);
  await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(100);
});

test("deliveries that wait longer than 24 hours during a back-off are dead", async () => {
  const { subscriptions, start, record, deliveries, pass } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  const sink = await startSink(() => 500);
  subscriptions.add(group, sink.url);
  await record(...Array.from({ length: 50 }, () => eventIn(group)));
  start();
  await expect.poll(() => deliveries()).toHaveLength(50);
  await expect.poll(() => sink.received.length).toBeGreaterThanOrEqual(3);
  pass(25 * hourMs);
  await expect.poll(() => deliveries({ state: "dead" })).toHaveLength(50);
  expect(sink.received.length).toBeLessThan(50);
});

test("after more than 24 hours without a dispatcher, a working sink still receives everything", async () => {
  const { subscriptions, start, record, deliveries, pass } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  const sink = await startSink();
  subscriptions.add(group, sink.url);
  await record(...Array.from({ length: 20 }, () => eventIn(group)));
  pass(48 * hourMs);
  start();
  await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(20);
});

test("deliveries stop within a second after the subscription is deleted", async () => {
  const { subscriptions, start, record, unsubscribe, deliveries } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  let [received, slowMs] = [0, 0];
  const url = await startServer((request, response) => {
    received++;
    request.resume();
    setTimeout(() => response.writeHead(204).end(), slowMs);
  });
  const uid = subscriptions.add(group, url);
  await record(...Array.from({ length: 500 }, () => eventIn(group)));
  start();
  await expect.poll(() => received).toBeGreaterThan(100);
  slowMs = 700; // the leased deliveries would take seconds
  await unsubscribe(uid);
  await new Promise((resolve) => setTimeout(resolve, 2200));
  const before = received;
  await expect.poll(() => deliveries({ state: "pending" })).toEqual([]);
  expect(received).toBe(before);
  expect(received).toBeLessThan(500);
});
