/**
 * The thread that is the admin listener of a process, so that it answers whatever the event loop of the process does.
 */
import type { ServerResponse } from "node:http";
import { Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { formatMetrics, type Metric, SeriesLimit } from "../../metrics/index.ts";
import { fileHeaders } from "./debug.ts";
import { listenerMetrics } from "./listener-metrics.ts";
import type { AdminThreadData, FromAdminThread, ToAdminThread } from "./open.ts";
import { type Check, eventLoopCheck } from "./readiness.ts";
import { respond } from "./respond.ts";
import { createAdminServer, maxSilenceMs, reportOf } from "./server.ts";

const { listen, beat, debug, hosts, hasMetrics } = workerData as AdminThreadData;

/** How long the process may take to answer with its metrics. */
const metricsMs = 2000;
/** After this time without a report, no heap snapshot is tried. */
const maxHeapSilenceMs = 3000;

let checks: readonly Check[] = [];
/** The metrics that the process answered with last. */
let last: { readonly metrics: readonly Metric[]; readonly atMs: number } = { metrics: [], atMs: performance.now() };
const limit = new SeriesLimit();
/** The scrapes that wait for the process, which is asked once for all of them. */
let asked: PromiseWithResolvers<void> | undefined;

parentPort?.on("message", (message: ToAdminThread) => {
  if (message.type === "checks") checks = message.checks;
  else {
    last = { metrics: message.metrics, atMs: performance.now() };
    asked?.resolve();
    asked = undefined;
  }
});

const server = createAdminServer({
  failure: () => (silentMs() > maxSilenceMs ? "the event loop does not respond" : undefined),
  readiness() {
    send({ type: "probed" });
    return reportOf([...checks, eventLoopCheck(silentMs())]);
  },
  metrics: hasMetrics ? metrics : undefined,
  debug: { access: debug, heap, profile },
  hosts,
});
server.once("error", ({ code, message }: NodeJS.ErrnoException) => send({ type: "failed", code, message }));
server.listen(listen.port, listen.host, () =>
  send({ type: "listening", port: (server.address() as AddressInfo).port }),
);

function send(message: FromAdminThread): void {
  parentPort?.postMessage(message);
}

function silentMs(): number {
  return Number(process.hrtime.bigint() - Atomics.load(beat, 0)) / 1e6;
}

/** The metrics of the process, or those that it answered with last; and how long it has been silent. */
async function metrics(): Promise<string> {
  if (asked === undefined) {
    asked = Promise.withResolvers();
    send({ type: "collect" });
  }
  const isLate = new AbortController();
  await Promise.race([asked.promise, delay(metricsMs, undefined, { signal: isLate.signal }).catch(() => {})]);
  isLate.abort();
  const ageMs = asked === undefined ? 0 : performance.now() - last.atMs;
  const own = listenerMetrics([{ labels: {}, checks, silentMs: silentMs(), ageMs }]);
  return formatMetrics(limit.apply([...last.metrics, ...own]));
}

/** Attached to the thread that serves calls, which answers even while its event loop does not move. */
async function inspected(response: ServerResponse, work: (session: Session) => Promise<void>): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  const gone = () => session.disconnect();
  response.once("close", gone);
  try {
    await work(session);
  } catch (error) {
    if (!response.closed) throw error;
  } finally {
    response.off("close", gone);
    session.disconnect();
  }
}

async function heap(response: ServerResponse): Promise<void> {
  if (silentMs() > maxHeapSilenceMs) {
    const status = "the event loop does not move, and V8 waits for that; take a CPU profile";
    return respond(response, [503, { status }]);
  }
  return inspected(response, async (session) => {
    response.setHeaders(fileHeaders("platform.heapsnapshot"));
    session.on("HeapProfiler.addHeapSnapshotChunk", ({ params }) => {
      response.write(Buffer.from(params.chunk)); // outside of the heap of this thread, which is small
    });
    await session.post("HeapProfiler.takeHeapSnapshot");
    send({ type: "debugged", file: "heap snapshot" });
    response.end();
  });
}

function profile(response: ServerResponse, _url: URL, seconds: number): Promise<void> {
  return inspected(response, async (session) => {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await delay(seconds * 1000);
    const { profile } = await session.post("Profiler.stop");
    send({ type: "debugged", file: "CPU profile" });
    response.setHeaders(fileHeaders("platform.cpuprofile")).end(JSON.stringify(profile));
  });
}
