/** Lanes keep their sinks' faults to themselves: bad ones beside a good one, one at a time, and rest. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { newUid } from "../../src/uid.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import { createDeliverer, eventIn } from "./deliverer.ts";
import { hostileSinks, startSink } from "./sinks.ts";

const hourMs = 3_600_000;

/** The address of a sink that takes its time. */
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

test("every bad sink at once, and the good one has everything before any of them has run out of time", async () => {
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

test("a sink that has shown nothing, or failed, is sent one event at a time; one that takes them gets more, up to 16", async () => {
  const { subscriptions, start, record } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  const under: number[] = [];
  let now = 0;
  const url = await startServer((request, response) => {
    under.push(++now);
    request.resume();
    setTimeout(() => {
      now--;
      response.writeHead(204).end();
    }, 20);
  });
  subscriptions.add(group, url);
  await record(...Array.from({ length: 300 }, () => eventIn(group)));
  start();
  await expect.poll(() => under).toHaveLength(300);
  expect(under[0]).toBe(1);
  expect(under[1]).toBeLessThanOrEqual(2);
  expect(Math.max(...under)).toBe(16);
});

test("a dead sink is left alone: of a hundred events it is asked about a few, and the others are not spent", async () => {
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

test("while a sink rests, what has waited for it 24 hours is dead", async () => {
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

test("after a pause of more than 24 hours a sink that works gets everything", async () => {
  const { subscriptions, start, record, deliveries, pass } = createDeliverer(await emptyDatabase());
  const group = newUid("");
  const sink = await startSink();
  subscriptions.add(group, sink.url);
  await record(...Array.from({ length: 20 }, () => eventIn(group)));
  pass(48 * hourMs);
  start();
  await expect.poll(() => deliveries({ state: "delivered" })).toHaveLength(20);
});

test("a slow sink hears nothing more a second after its subscription is deleted", async () => {
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
  slowMs = 700; // what is leased by now would take seconds
  await unsubscribe(uid);
  await new Promise((resolve) => setTimeout(resolve, 2200));
  const before = received;
  await expect.poll(() => deliveries({ state: "pending" })).toEqual([]);
  expect(received).toBe(before);
  expect(received).toBeLessThan(500);
});
