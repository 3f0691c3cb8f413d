/** What one process of a server does in the background: housekeeping, deliveries. */

import { forgetAudit } from "../../audit/index.ts";
import type { Issuer } from "../../auth/index.ts";
import { AttemptCounts, forgetDelivered, startDispatcher } from "../../delivery/index.ts";
import { idempotentAnswers, type PipelineOptions } from "../../pipeline/index.ts";
import { sessions, subscriptionSource } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { startHousekeeping } from "../housekeeping.ts";
import { measureDeliveries } from "../instruments/deliveries.ts";
import type { StartContext } from "./context.ts";

/** What {@link startBackground} needs. */
export interface BackgroundOptions {
  readonly database: Database;
  readonly environment: PipelineOptions["environment"];
  readonly issuer: Issuer;
  /** How long audit records are kept; undefined: for ever. */
  readonly auditRetentionDays: number | undefined;
  /** Whether the database can be asked. */
  isAvailable(): boolean;
  /** See `Parts`. */
  reportAs(message: string): (error: unknown) => void;
}

/** Starts it. It is stopped with the server. */
export async function startBackground(
  { config, now, metrics, peers, stack, tracing }: StartContext,
  { database, environment, issuer, auditRetentionDays, isAvailable, reportAs }: BackgroundOptions,
): Promise<void> {
  const { eventRetentionDays } = config;
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
  const attempts = new AttemptCounts();
  let isOpen = true;
  stack.defer(() => {
    isOpen = false; // the database is closed next, and the metrics of a worker are read once more after that
  });
  const subscriptions = subscriptionSource({ database, secrets: environment.secrets, now });
  if (metrics !== undefined)
    measureDeliveries(metrics, { database, subscriptions, isAvailable: () => isOpen && isAvailable(), attempts, now });
  const dispatcher = startDispatcher({
    database,
    subscriptions,
    sign: (request) => issuer.mint(request),
    allowLoopbackSinks: config.allowLoopbackSinks,
    now,
    report: reportAs("delivery"),
    tracing,
    onAttempt: (attempt, subscription) => attempts.count(attempt, subscription),
  });
  stack.defer(() => dispatcher.stop());
  peers.onWakeDispatcher(dispatcher.wake);
}
