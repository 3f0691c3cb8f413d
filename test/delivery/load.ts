/**
 * A program, not a test: delivers 10,000 events to 10 sinks in another process, and prints how long API reads take
 * meanwhile. It asserts nothing.
 *
 *     node test/delivery/load.ts [EVENTS] [DATABASE]
 */
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";

const sinks = 10;

if (process.send === undefined) await measure();
else serveSinks();

/** The other process: accepts every delivery, and reports the numbers of all and of distinct ones. */
function serveSinks(): void {
  const seen = new Set<string>();
  let total = 0;
  const server = createServer((request, response) => {
    total++;
    seen.add(`${request.url} ${request.headers["ce-id"]}`);
    request.resume().on("end", () => response.writeHead(204).end());
  }).listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
  setInterval(() => process.send?.({ total, unique: seen.size }), 100);
  process.on("disconnect", () => process.exit());
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "platform-load-"));
  const [events = "10000", database = `sqlite:${join(folder, "platform.db")}`] = process.argv.slice(2);
  const child = fork(fileURLToPath(import.meta.url));
  let reported: { port?: number; total?: number; unique?: number } = {};
  child.on("message", (message) => {
    reported = { ...reported, ...(message as typeof reported) };
  });
  const flags = { listen: "127.0.0.1:0", adminListen: "off", database, logLevel: "warn", allowLoopbackSinks: "true" };
  const server = await startServer(readConfig({ flags, env: {}, warn: console.warn }), pino({ level: "warn" }));
  const root = server.installed!.rootGroupUid;
  const token = await server.mintToken(server.installed!.administratorUid, 3600);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = (path: string, body: object) =>
    answered(fetch(server.baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) }));
  const get = () => answered(fetch(`${server.baseUrl}/iam/v2/groups/${root}`, { headers }));

  /** Measures a read every few milliseconds. */
  async function probe(isOver: () => boolean): Promise<string> {
    const times: number[] = [];
    while (!isOver()) {
      const start = performance.now();
      await get();
      times.push(performance.now() - start);
      await delay(5);
    }
    const sorted = times.sort((a, b) => a - b);
    const at = (part: number) => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1);
    return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${sorted.length}`;
  }
  const lasting = (ms: number) => {
    const end = performance.now() + ms;
    return () => performance.now() > end;
  };

  await probe(lasting(2000));
  console.log(`reads while idle:        ${await probe(lasting(5000))}`);
  while (reported.port === undefined) await delay(10);
  for (let i = 0; i < sinks; i++)
    await post(`/events/v2/subscriptions/${root}`, { sink: `http://127.0.0.1:${reported.port}/${i}` });
  const start = performance.now();
  const seconds = () => ((performance.now() - start) / 1000).toFixed(1);
  let left = Number(events);
  const creating = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (left-- > 0) await post(`/iam/v2/groups/${root}`, { name: "event" });
    }),
  );
  console.log(`reads while creating:    ${await probe(() => left <= 0)}`);
  await creating;
  console.log(`${events} events created in ${seconds()} s; ${reported.total} deliveries by then`);
  const wanted = Number(events) * sinks;
  console.log(`reads while delivering:  ${await probe(() => (reported.unique ?? 0) >= wanted)}`);
  console.log(`${reported.unique} deliveries in ${seconds()} s, ${reported.total! - reported.unique!} of them twice`);
  child.kill();
  await server.stop();
  rmSync(folder, { recursive: true });
}

async function answered(response: Promise<Response>): Promise<void> {
  const { ok, status } = await response.then(async (one) => ({
    ok: one.ok,
    status: one.status,
    body: await one.text(),
  }));
  if (!ok) throw new Error(`status ${status}`);
}
