/** The database of a server, and the parts that use it in the background. */

import { createIssuer, type Issuer } from "../../auth/index.ts";
import {
  type DeliveryMetrics,
  type Dispatcher,
  forgetDelivered,
  serveMetrics,
  startDispatcher,
} from "../../delivery/index.ts";
import {
  type Audit,
  createAudit,
  createEventRecorder,
  type EventRecorder,
  forgetAudit,
  idempotentAnswers,
  type PipelineOptions,
} from "../../pipeline/index.ts";
import { hasSubscriptions, sessions, subscriptionSource } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { type Availability, watchAvailability } from "../availability.ts";
import { startHousekeeping } from "../housekeeping.ts";
import { readEnvironment, readInstallation } from "../installation.ts";
import type { StartContext } from "./context.ts";
import type { PreparedDatabase } from "./database.ts";
import { listenFailure } from "./failure.ts";

/** The open parts. */
export interface Parts {
  readonly database: Database;
  readonly availability: Availability;
  readonly issuer: Issuer;
  readonly environment: PipelineOptions["environment"];
  readonly audit: Audit;
  readonly events: EventRecorder;
  readonly dispatcher: Dispatcher;
  /** Handles a failure in the background: an outage goes to `availability`, anything else to the log. */
  reportAs(message: string): (error: unknown) => void;
}

/**
 * Opens the parts on a prepared database. `onAvailability`: called when the database becomes available or unavailable.
 */
export async function openParts(
  { config, log, api, now, overload, stack }: StartContext,
  { database, installation }: PreparedDatabase,
  baseUrl: string,
  onAvailability: (isUp: boolean) => void,
): Promise<Parts> {
  stack.defer(() => database.close());
  const availability = watchAvailability({ database, log, onChange: onAvailability });
  stack.defer(() => availability.stop()); // ends what waits for a database that hangs, so it is stopped late
  const reportAs = (message: string) => (error: unknown) => {
    if (!availability.report(error)) log.warn({ err: error }, message);
  };
  const issuer = await createIssuer({
    issuer: installation.issuerUrl,
    keys: installation.signingKeys,
    readKeys: async () => (await readInstallation(database.read))?.signingKeys ?? [],
    clock: now,
  });
  const environment = await readEnvironment(database, installation, config, baseUrl);
  const audit = createAudit({
    database,
    now,
    onLoss: (count, error) => log.error({ reason: String(error), count }, "audit records lost"),
  });
  stack.defer(() => audit.close());
  const { auditRetentionDays, eventRetentionDays } = config;
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
  const metrics = await openMetrics(config.metricsListen, database, api.callsOfV1, overload.refused, now);
  stack.defer(() => metrics?.close());
  const dispatcher = startDispatcher({
    database,
    subscriptions: subscriptionSource({ database, secrets: environment.secrets }),
    sign: (request) => issuer.mint(request),
    allowLoopbackSinks: config.allowLoopbackSinks,
    now,
    report: reportAs("delivery"),
    onAttempt: (attempt, subscription) => metrics?.countAttempt(attempt, subscription),
  });
  stack.defer(() => dispatcher.stop());
  const { contract, registry } = api;
  const events = createEventRecorder({ contract, baseUrl, issuerUrl: issuer.url, registry, hasSubscriptions });
  return { database, availability, issuer, environment, audit, events, dispatcher, reportAs };
}

async function openMetrics(
  listen: StartContext["config"]["metricsListen"],
  database: Database,
  callsOfV1: ReadonlyMap<string, number>,
  refused: ReadonlyMap<string, number>,
  now: () => number,
): Promise<DeliveryMetrics | undefined> {
  if (listen === undefined) return undefined;
  const counters = [
    {
      name: "platform_v1_calls",
      description: "Calls of the v1 API that this process has answered, by method.",
      label: "method",
      values: callsOfV1,
    },
    {
      name: "platform_overload_refusals",
      description: "Requests that this process has refused because it was overloaded, by the limit that was reached.",
      label: "limit",
      values: refused,
    },
  ];
  return serveMetrics({ database, listen, now, counters }).catch((error) => {
    throw listenFailure("metricsListen", listen, error);
  });
}
