/**
 * Metrics of delivery for Prometheus, at an address of their own. Deliveries are counted in the database on each
 * scrape, so every process reports the same; attempts are those of this process. No label has a value chosen by a
 * tenant.
 *
 * Series are labelled with the uid of the subscription, for at most 100 subscriptions: those with the most deliveries
 * in a state, and the first ones that this process attempted to deliver to. All others are one series, `other`.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Database } from "../store/index.ts";
import { deliveriesQueue, fanOutPartition } from "./deliveries.ts";
import type { Attempt } from "./sink.ts";

/** A running metrics endpoint. */
export interface DeliveryMetrics {
  readonly port: number;
  /** Counts an attempt to deliver to a subscription. */
  countAttempt(attempt: Attempt, subscription: string): void;
  close(): Promise<void>;
}

/** What {@link serveMetrics} needs. */
interface DeliveryMetricsOptions {
  readonly database: Database;
  readonly listen: { readonly host: string; readonly port: number };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Counters that other parts keep. */
  readonly counters?: readonly CounterOfParts[];
}

/** A counter with one label, whose values are few and fixed. */
export interface CounterOfParts {
  readonly name: string;
  readonly description: string;
  readonly label: string;
  readonly values: ReadonlyMap<string, number>;
}

const maxSubscriptions = 100;
/** Label of the series of all other subscriptions. */
const others = "other";
const fanOutName = "fan-out";

/** Serves the metrics at `/metrics`. Loads their libraries on first use. Errors: those of listening at the address. */
export async function serveMetrics({
  database,
  listen,
  now,
  counters = [],
}: DeliveryMetricsOptions): Promise<DeliveryMetrics> {
  const [{ PrometheusExporter }, { MeterProvider }] = await Promise.all([
    import("@opentelemetry/exporter-prometheus"),
    import("@opentelemetry/sdk-metrics"),
  ]);
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const attempted = new Set<string>();
  const provider = new MeterProvider({ readers: [exporter] });
  const meter = provider.getMeter("platform-delivery");
  const attempts = meter.createCounter("platform_delivery_attempts", {
    description: "Attempts of this process to deliver an event, by what came of them and by subscription.",
  });
  const waiting = meter.createObservableGauge("platform_deliveries", {
    description: "Deliveries that are pending, or dead: given up and kept to be seen; by subscription.",
  });
  const age = meter.createObservableGauge("platform_delivery_oldest_pending_age", {
    description: "How long ago the event of the oldest pending delivery was recorded; 0 when none is.",
    unit: "s",
  });
  meter.addBatchObservableCallback(
    async (observed) => {
      const queue = database.queue(deliveriesQueue);
      for (const state of ["pending", "dead"] as const)
        for (const [subscription, count] of largest(await queue.depths(state)))
          observed.observe(waiting, count, { state, subscription });
      const { oldestUs } = await queue.depth("pending");
      observed.observe(age, oldestUs === undefined ? 0 : Math.max(0, now() / 1000 - oldestUs / 1e6));
    },
    [waiting, age],
  );
  for (const { name, description, label, values } of counters)
    meter.createObservableCounter(name, { description }).addCallback((observed) => {
      for (const [value, count] of values) observed.observe(count, { [label]: value });
    });
  const server = createServer((request, response) => {
    if (request.url === "/metrics") exporter.getMetricsRequestHandler(request, response);
    else response.writeHead(404).end();
  });
  await listening(server, listen);
  return {
    port: (server.address() as AddressInfo).port,
    countAttempt({ result }, subscription) {
      if (attempted.size < maxSubscriptions) attempted.add(subscription);
      attempts.add(1, {
        result: classOf(result),
        subscription: attempted.has(subscription) ? subscription : others,
      });
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await provider.shutdown();
    },
  };
}

/**
 * The counts of the largest partitions, then the sum of all others. Events that wait for fan-out have their own name.
 */
function largest(
  depths: readonly { readonly partition: string; readonly count: number }[],
): readonly (readonly [string, number])[] {
  const counts = depths.map(
    ({ partition, count }) => [partition === fanOutPartition ? fanOutName : partition, count] as const,
  );
  const sorted = counts.toSorted(([, a], [, b]) => b - a);
  const rest = sorted.slice(maxSubscriptions).reduce((sum, [, count]) => sum + count, 0);
  return [...sorted.slice(0, maxSubscriptions), [others, rest]];
}

/** `2xx` for `204`; a result that is not a status is returned as is. */
function classOf(result: string): string {
  return /^\d{3}$/.test(result) ? `${result[0]}xx` : result;
}

function listening(server: Server, { host, port }: DeliveryMetricsOptions["listen"]): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
