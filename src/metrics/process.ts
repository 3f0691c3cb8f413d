/** What Node and the system say about a process. */
import { readdir } from "node:fs/promises";
import { constants, monitorEventLoopDelay, PerformanceObserver, performance } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import { Histogram } from "../histogram/index.ts";
import { lostLogLines } from "../log-output.ts";
import { version } from "../version.ts";
import { maxOpenFiles } from "./open-files.ts";
import type { Metrics } from "./registry.ts";

/** How often the delay is measured. It is part of what Node reports. */
const resolutionMs = 20;
/**
 * How long, and how often, collections are observed. Node makes an object of each, with accessors that it builds anew:
 * at 60 collections a second that takes 5 % of the throughput.
 */
const gcSampleMs = 1000;
const gcSampleEveryMs = 10_000;
const pauseBoundaries = [0.001, 0.005, 0.025, 0.1, 0.5];
const kinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
  [constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, "weakcb"],
]);

/** An entry of a garbage collection. Node's types do not have its detail. */
interface PerformanceNodeEntry {
  readonly duration: number;
  readonly detail: { readonly kind: number };
}

/** Adds the instruments of this process, and begins to observe it. Returns what ends that. */
export function addProcessMetrics(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let utilization = performance.eventLoopUtilization();
  const collections = new Map(Array.from(kinds.values(), (kind) => [kind, new Histogram(pauseBoundaries)]));
  const stopSampling = sampleCollections((kind, ms) => collections.get(kind)?.record(ms / 1000));

  metrics.add({
    name: "platform.build.info",
    kind: "gauge",
    description: "1, with the versions of the server and of Node.",
    read: () => [{ labels: { version: version(), node: process.version }, value: 1 }],
  });
  metrics.add({
    name: "process.start_time",
    kind: "gauge",
    description: "When the process started, in seconds since 1970.",
    unit: "s",
    read: () => performance.timeOrigin / 1000,
  });
  metrics.add({
    name: "nodejs.eventloop.delay",
    kind: "gauge",
    description: "How much later than planned the event loop ran timers since the last scrape.",
    unit: "s",
    read() {
      const series = (["p50", "p99", "max"] as const).map((statistic) => {
        const ns = statistic === "max" ? delay.max : delay.percentile(statistic === "p50" ? 50 : 99);
        return { labels: { statistic }, value: delay.count === 0 ? 0 : Math.max(0, ns / 1e9 - resolutionMs / 1000) };
      });
      delay.reset();
      return series;
    },
  });
  metrics.add({
    name: "nodejs.eventloop.utilization",
    kind: "gauge",
    description: "The share of time since the last scrape in which the event loop was busy, from 0 to 1.",
    unit: "1",
    read() {
      const now = performance.eventLoopUtilization();
      const since = performance.eventLoopUtilization(now, utilization);
      utilization = now;
      return since.utilization;
    },
  });
  metrics.add({
    name: "v8js.gc.duration",
    kind: "histogram",
    description: "How long garbage collections took, by kind; those of one second in ten.",
    unit: "s",
    boundaries: pauseBoundaries,
    read: () => Array.from(collections, ([kind, { value }]) => ({ labels: { "v8js.gc.type": kind }, value })),
  });
  metrics.add({
    name: "v8js.memory.heap.used",
    kind: "gauge",
    description: "Heap in use, without young objects.",
    unit: "By",
    read: oldHeapUsed,
  });
  metrics.add({
    name: "v8js.memory.heap.limit",
    kind: "gauge",
    description: "Heap at which the process ends, without young objects.",
    unit: "By",
    read: () => getHeapStatistics().heap_size_limit - youngReserveBytes,
  });
  metrics.add({
    name: "process.memory.usage",
    kind: "gauge",
    description: "Resident memory.",
    unit: "By",
    read: () => process.memoryUsage.rss(),
  });
  metrics.add({
    name: "process.cpu.time",
    kind: "counter",
    description: "CPU time of all threads, by mode.",
    unit: "s",
    read() {
      const { user, system } = process.cpuUsage();
      return Object.entries({ user, system }).map(([mode, us]) => ({ labels: { "cpu.mode": mode }, value: us / 1e6 }));
    },
  });
  metrics.add({
    name: "process.unix.file_descriptor.count",
    kind: "gauge",
    description: "Open files and connections; only on Linux.",
    read: async () => (process.platform === "linux" ? (await readdir("/proc/self/fd")).length : undefined),
  });
  metrics.add({
    name: "process.unix.file_descriptor.limit",
    kind: "gauge",
    description: "How many of them the system allows; only on Linux.",
    read: maxOpenFiles,
  });
  metrics.add({
    name: "platform.log.lost",
    kind: "counter",
    description: "Log lines that could not be written.",
    read: lostLogLines,
  });
  return () => {
    stopSampling();
    delay.disable();
  };
}

/** Observes collections of one second in ten, the first now. Returns what ends that. */
function sampleCollections(record: (kind: string, ms: number) => void): () => void {
  const observer = new PerformanceObserver((list) => {
    for (const { duration, detail } of list.getEntries() as unknown as readonly PerformanceNodeEntry[]) {
      const kind = kinds.get(detail.kind);
      if (kind !== undefined) record(kind, duration);
    }
  });
  let ending: NodeJS.Timeout | undefined;
  const observe = () => {
    observer.observe({ entryTypes: ["gc"] });
    ending = setTimeout(() => observer.disconnect(), gcSampleMs).unref();
  };
  const beginning = setInterval(observe, gcSampleEveryMs).unref();
  observe();
  return () => {
    clearInterval(beginning);
    clearTimeout(ending);
    observer.disconnect();
  };
}

/** What V8 adds to the limit of the heap for young objects, by default, which never fill it. */
const youngReserveBytes = 192 * 1024 * 1024;

/** The process ends when these reach their limit, `--max-old-space-size`. */
function oldHeapUsed(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith("new_"));
  return old.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
}
