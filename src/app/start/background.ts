/** What one process of a server does in the background: housekeeping, metrics, deliveries. */
import type { Issuer } from "../../auth/index.ts";
import { type CounterOfParts, forgetDelivered, serveMetrics, startDispatcher } from "../../delivery/index.ts";
import { forgetAudit, idempotentAnswers, type PipelineOptions } from "../../pipeline/index.ts";
import { sessions, subscriptionSource } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { listenFailure } from "../failure.ts";
import { startHousekeeping } from "../housekeeping.ts";
import type { StartContext } from "./context.ts";

/** What {@link startBackground} needs. */
export interface BackgroundOptions {
  readonly database: Database;
  readonly environment: PipelineOptions["environment"];
  readonly issuer: Issuer;
  readonly counters: readonly CounterOfParts[];
  /** See `Parts`. */
  reportAs(message: string): (error: unknown) => void;
}

/** The counters for metrics, of all processes. Every process must read them, because that is how its own are added. */
export function readCounters({ api, overload, rateLimited, peers }: StartContext): readonly CounterOfParts[] {
  const counters = [
    {
      name: "platform_v1_calls",
      description: "Calls of the v1 API that this server has answered, by method.",
      label: "method",
      values: api.callsOfV1,
    },
    {
      name: "platform_overload_refusals",
      description: "Requests that this server has refused because it was overloaded, by the limit that was reached.",
      label: "limit",
      values: overload.refused,
    },
    {
      name: "platform_rate_limited",
      description: "Requests that this server has refused because of a rate limit, by limit.",
      label: "limit",
      values: rateLimited.counts,
    },
  ];
  return counters.map((counter) => ({ ...counter, values: peers.totalsOf(counter.name, counter.values) }));
}

/** Starts it. It is stopped with the server. */
export async function startBackground(
  { config, now, peers, stack, tracing }: StartContext,
  { database, environment, issuer, counters, reportAs }: BackgroundOptions,
): Promise<void> {
  const { auditRetentionDays, eventRetentionDays, metricsListen: listen } = config;
  const daysAgo = (days: number) => now() - days * 86_400_000;
  stack.defer(
    startHousekeeping({
      database,
      tables: [sessions, idempotentAnswers],
      others: [
        ...(auditRetentionDays === undefined ? [] : [() => forgetAudit(database, daysAgo(auditRetentionDays))]),
        () => forgetDelivered(database, daysAgo(eventRetentionDays)),
      ],
      now,
      report: reportAs("housekeeping"),
    }),
  );
  const metrics =
    listen &&
    (await serveMetrics({ database, listen, now, counters }).catch((error) => {
      throw listenFailure("metricsListen", listen, error);
    }));
  stack.defer(() => metrics?.close());
  const dispatcher = startDispatcher({
    database,
    subscriptions: subscriptionSource({ database, secrets: environment.secrets }),
    sign: (request) => issuer.mint(request),
    allowLoopbackSinks: config.allowLoopbackSinks,
    now,
    report: reportAs("delivery"),
    tracing,
    onAttempt: (attempt, subscription) => metrics?.countAttempt(attempt, subscription),
  });
  stack.defer(() => dispatcher.stop());
  peers.onWakeDispatcher(dispatcher.wake);
}
