/** The database of a server, and the parts that use it. */

import { Audit } from "../../audit/index.ts";
import { createIssuer, type Issuer } from "../../auth/index.ts";
import { codeOf } from "../../log.ts";
import { createEventRecorder, type EventRecorder, type PipelineOptions } from "../../pipeline/index.ts";
import { hasSubscriptions } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { type Availability, watchAvailability } from "../availability.ts";
import { readEnvironment } from "../installation.ts";
import { measureDatabase } from "../instruments/database.ts";
import { openSigningKeys } from "../keys/signing-keys.ts";
import { startBackground } from "./background.ts";
import type { StartContext } from "./context.ts";
import type { PreparedDatabase } from "./database.ts";

/** The open parts. */
export interface Parts {
  readonly database: Database;
  readonly availability: Availability;
  readonly issuer: Issuer;
  readonly environment: PipelineOptions["environment"];
  readonly audit: Audit;
  readonly events: EventRecorder;
  /** Handles a failure in the background: an outage goes to `availability`, anything else to the log. */
  reportAs(message: string): (error: unknown) => void;
}

/**
 * Opens the parts on a prepared database. `onAvailability`: called when the database becomes available or unavailable.
 */
export async function openParts(
  context: StartContext,
  { database, installation }: PreparedDatabase,
  baseUrl: string,
  onAvailability: (isUp: boolean) => void,
): Promise<Parts> {
  const { config, live, log, api, now, metrics, peers, stack } = context;
  stack.defer(() => database.close());
  const availability = watchAvailability({ database, log, onChange: onAvailability });
  stack.defer(() => availability.stop()); // ends what waits for a database that hangs, so it is stopped late
  if (metrics !== undefined) measureDatabase(metrics, database, availability);
  const reportAs = (message: string) => (error: unknown) => {
    if (!availability.report(error)) log.warn({ err: error }, message);
  };
  const signingKeys = await openSigningKeys(database, installation, config, (error) =>
    log.warn({ err: error }, "signing keys not read again; those before stay in use"),
  );
  const issuer = await createIssuer({
    issuer: installation.issuerUrl,
    keys: signingKeys.keys,
    readKeys: signingKeys.read,
    changes: () => database.read.changes(),
    clock: now,
  });
  const environment = await readEnvironment(database, installation, config, baseUrl);
  live.follow(({ quotas, maxPatterns }) => Object.assign(environment, { quotas, maxPatterns }));
  let lostRecords = 0;
  const audit = new Audit({
    database,
    now,
    onLoss(count, error) {
      lostRecords += count;
      log.error({ reason: String(error), code: codeOf(error), count }, "audit records lost");
    },
  });
  metrics?.add({
    name: "platform.audit.lost",
    kind: "counter",
    description: "Audit records of refused and failed calls that could not be written.",
    read: () => lostRecords,
  });
  stack.defer(() => audit.close());
  const { contract, registry } = api;
  const events = createEventRecorder({
    contract,
    baseUrl,
    issuerUrl: issuer.url,
    registry,
    hasSubscriptions,
    get quotas() {
      return live.current.quotas;
    },
  });
  const isAvailable = () => availability.isUp;
  const auditRetentionDays = config.auditRetentionDays ?? installation.auditRetentionDays;
  if (peers.isLeader)
    await startBackground(context, {
      database,
      environment,
      events,
      issuer,
      auditRetentionDays,
      isAvailable,
      reportAs,
    });
  return { database, availability, issuer, environment, audit, events, reportAs };
}
