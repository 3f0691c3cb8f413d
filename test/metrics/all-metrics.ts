/** Every metric of a server, with as many series as its tenants can make. */
import { onTestFinished } from "vitest";
import { listenerMetrics } from "../../src/app/admin/listener-metrics.ts";
import { readApi } from "../../src/app/api.ts";
import { measureAuthentication, measureCalls } from "../../src/app/instruments/calls.ts";
import { measureDatabase } from "../../src/app/instruments/database.ts";
import { measureDeliveries } from "../../src/app/instruments/deliveries.ts";
import { measurePort } from "../../src/app/instruments/port.ts";
import { readConfig } from "../../src/config/index.ts";
import { AttemptCounts } from "../../src/delivery/index.ts";
import { addProcessMetrics, createMetrics, type Metric } from "../../src/metrics/index.ts";
import { newUid } from "../../src/new-uid.ts";
import { openDatabase } from "../../src/store/index.ts";

/** Results of attempts: more than there are. */
const results = Array.from({ length: 30 }, (_, i) => (i < 5 ? `${i + 1}00` : `tls: ${i}`));

/** Collects all metrics of a process. */
export async function collectAll(): Promise<readonly Metric[]> {
  const metrics = createMetrics((error) => {
    throw error;
  });
  const config = readConfig({ flags: {}, env: {}, warn: () => {} });
  const api = readApi(config);
  const counter = (values: readonly string[]) => ({ counts: new Map(values.map((v) => [v, 1])), report() {} });
  const methods = api.contract.methods.map(({ method }) => method);
  const nameOf = ({ parent, name }: (typeof methods)[number]) => `${parent.typeName}/${name}`;
  const ofV1 = methods.filter(({ parent }) => parent.typeName.includes(".v1."));
  const calls = measureCalls(metrics, {
    api: { ...api, callsOfV1: new Map(ofV1.map((method) => [nameOf(method), 1])) },
    overload: { refused: counter(["max-queue-delay", "max-calls"]).counts },
    rateLimited: counter(["read", "list", "write", "exchange", "address"]),
  });
  for (const method of methods)
    for (const protocol of ["rest", "grpc", "grpc-web", "connect", "local"])
      for (let code = 0; code <= 16; code++) {
        calls.begin();
        calls.end(method, protocol, code, code * 1000);
      }
  const fetches = counter(["named ok", "named failed", "pattern ok", "pattern failed"]);
  measureAuthentication(metrics, { tokenUses: { known: 1, unknown: 1 } }, fetches.counts);
  const connections = { http1: 1, http2: 2, unknown: 3 };
  const port = { connections, waiting: 4, waitedMs: 5, bytesRead: 6, bytesWritten: 7 };
  const refused = counter(["max-connections", "max-connections-per-address", "file-descriptors"]).counts;
  measurePort(metrics, { stats: () => port }, refused, () => 1e12);
  const database = await openDatabase("sqlite::memory:");
  onTestFinished(() => database.close());
  await database.migrate();
  const ofPostgres = { connections: () => ({ used: 1, idle: 2, max: 3, waiting: 4 }) };
  measureDatabase(metrics, { ...database, stats: Object.assign(database.stats, ofPostgres) }, { isUp: true });
  const attempts = new AttemptCounts();
  const group = newUid("");
  for (let i = 0; i < 50; i++) {
    const partition = newUid(group);
    for (const result of results) attempts.count({ outcome: "failed", result, retryAfterMs: 0 }, partition);
    await database.queue("deliveries").add([{ partition, id: "a", timeUs: 1, expireUs: 9 }]);
  }
  await database.queue("deliveries").add([{ partition: "", id: "new", timeUs: 1, expireUs: 9 }]);
  const subscriptions = { pausedAmong: async () => new Set<string>() };
  measureDeliveries(metrics, { database, subscriptions, isAvailable: () => true, attempts, now: Date.now });
  metrics.add({ name: "platform.audit.lost", kind: "counter", description: "See app/start/parts.ts.", read: () => 0 });
  onTestFinished(addProcessMetrics(metrics));
  return metrics.collect();
}

/** What the admin listener adds for its processes. */
export function ofListener(workers: readonly number[]): readonly Metric[] {
  const checks = ["shutdown", "startup", "database", "schema"].map((name) => ({ name, failure: undefined }));
  const labelsOf = (worker: number) => ({ worker: String(worker) });
  return listenerMetrics(
    (workers.length === 0 ? [0] : workers).map((worker) => ({
      labels: workers.length === 0 ? {} : labelsOf(worker),
      checks,
      silentMs: 1,
      ageMs: 0,
    })),
  );
}
