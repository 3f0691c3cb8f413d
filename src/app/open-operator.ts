/** The operator of a command that runs without a server. */

import { Audit } from "../audit/index.ts";
import { baseUrlOf, type Config } from "../config/index.ts";
import { createEventRecorder, createOperator, type Operator } from "../pipeline/index.ts";
import { hasSubscriptions } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { readApi } from "./api.ts";
import { readEnvironment, readInstallation } from "./installation.ts";

/**
 * Opens the operator on an initialised database. The audit log names `subject` as the caller. Errors: a plain Error if
 * the database is not initialised.
 */
export async function openOperator(database: Database, config: Config, subject: string): Promise<Operator> {
  const installation = await readInstallation(database.read);
  if (installation === undefined) throw new Error("the database is not initialised");
  const { services, contract, registry } = readApi(config);
  const environment = await readEnvironment(database, installation, config, baseUrlOf(config));
  const events = createEventRecorder({
    contract,
    baseUrl: baseUrlOf(config),
    issuerUrl: installation.issuerUrl,
    registry,
    hasSubscriptions,
    quotas: config.quotas,
  });
  const audit = new Audit({
    database,
    now: Date.now,
    onLoss(_count, error) {
      throw error;
    },
  });
  return createOperator({ services, contract, database, environment, audit, events, now: Date.now, subject });
}
