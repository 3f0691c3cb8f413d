/** What one process of a server does in the background: housekeeping, the record of findings, deliveries. */

import { type Issuer, operatorClaims } from "../../auth/index.ts";
import { AttemptCounts, Dispatcher } from "../../delivery/index.ts";
import type { EventRecorder, PipelineOptions } from "../../pipeline/index.ts";
import { type RowChange, recordFindingDays, subscriptionSource } from "../../services/index.ts";
import type { Database, WriteSession } from "../../store/index.ts";
import { startHousekeeping, startTasks } from "../housekeeping.ts";
import { measureDeliveries } from "../instruments/deliveries.ts";
import { tableBounds } from "./bounds.ts";
import type { StartContext } from "./context.ts";

/** What {@link startBackground} needs. */
export interface BackgroundOptions {
  readonly database: Database;
  readonly environment: PipelineOptions["environment"];
  readonly events: EventRecorder;
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
  { api, config, now, metrics, peers, stack, tracing }: StartContext,
  { database, environment, events, issuer, auditRetentionDays, isAvailable, reportAs }: BackgroundOptions,
): Promise<void> {
  const { eventRetentionDays } = config;
  const resources = api.services.flatMap((service) => service.resources);
  const by = { subject: "platform", claims: operatorClaims("platform") };
  const record = (session: WriteSession, changes: readonly RowChange[]) =>
    events.recordChanges(session, changes, by, now());
  const bounds = tableBounds({ database, resources, now, record, auditRetentionDays, eventRetentionDays });
  stack.defer(startHousekeeping({ database, bounds, now, report: reportAs("housekeeping") }));
  const recordDays = recordFindingDays({ database, memory: api.components, now });
  stack.defer(startTasks([recordDays], { intervalMs: 3_600_000, isAtOnce: true }, reportAs("record of findings")));
  const attempts = new AttemptCounts();
  let isOpen = true;
  stack.defer(() => {
    isOpen = false; // the database is closed next, and the metrics of a worker are read once more after that
  });
  const subscriptions = subscriptionSource({ database, secrets: environment.secrets, now });
  if (metrics !== undefined)
    measureDeliveries(metrics, { database, subscriptions, isAvailable: () => isOpen && isAvailable(), attempts, now });
  const dispatcher = new Dispatcher({
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
  peers.onWakeDispatcher(() => dispatcher.wake());
}
