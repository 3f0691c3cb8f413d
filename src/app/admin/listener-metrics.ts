/** What the admin listener itself knows about the processes that it answers for. */
import type { Labels, Metric } from "../../metrics/index.ts";
import { type Check, eventLoopCheck } from "./readiness.ts";

/** A process. */
export interface Listened {
  /** Of its series. */
  readonly labels: Labels;
  /** How long ago it reported that its event loop moves. */
  readonly silentMs: number;
  /** Those of `/readyz`, without that of its event loop. */
  readonly checks: readonly Check[];
  /** How old its metrics are. */
  readonly ageMs: number;
}

/** These metrics, at this moment. */
export function listenerMetrics(processes: readonly Listened[]): readonly Metric[] {
  const seconds = (read: (process: Listened) => number) =>
    processes.map((process) => ({ labels: process.labels, value: read(process) / 1000 }));
  return [
    {
      name: "platform.readiness",
      kind: "gauge",
      description: "1 while a check of /readyz holds, else 0.",
      series: processes.flatMap(({ labels, checks, silentMs }) =>
        [...checks, eventLoopCheck(silentMs)].map(({ name: check, failure }) => ({
          labels: { ...labels, check },
          value: Number(failure === undefined),
        })),
      ),
    },
    {
      name: "platform.event_loop.silence",
      kind: "gauge",
      description: "Time since the event loop last moved; it reports once a second.",
      unit: "s",
      series: seconds(({ silentMs }) => silentMs),
    },
    {
      name: "platform.metrics.age",
      kind: "gauge",
      description: "How old the other metrics are: 0 if the process has answered this scrape.",
      unit: "s",
      series: seconds(({ ageMs }) => ageMs),
    },
    {
      name: "platform.clock.time",
      kind: "gauge",
      description: "The clock of the machine, in seconds since 1970.",
      unit: "s",
      series: [{ labels: {}, value: Date.now() / 1000 }],
    },
  ];
}
