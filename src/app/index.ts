/**
 * app: the composition root. Beside the command line it is the only module that knows all others.
 *
 * - {@link startServer} (`server.ts`) starts the server in phases (`start/`): the port, the database, the parts that
 *   run in the background, the calls, the handlers of requests. `stop` closes them in reverse, after the calls under
 *   way have finished.
 * - What happens to each call is the list in `pipeline/pipeline.ts`.
 * - One port speaks every protocol (`http/port.ts`). Whatever the protocol, a call reaches the same transport
 *   (`call/local-transport.ts`) and from there the same methods.
 *
 * No resource, no SQL and no HTTP mapping is described here.
 */

export { IncompleteError } from "../contract/index.ts";
export { listenerMetrics } from "./admin/listener-metrics.ts";
export { type Check, failureOf } from "./admin/readiness.ts";
export { openSupervisorAdmin, type ProcessState } from "./admin/workers.ts";
export { listenFailure, StartFailure } from "./failure.ts";
export {
  type Installation,
  install,
  readInstallation,
  recoverAdministrator,
  refreshBuiltIns,
} from "./installation.ts";
export { openSecrets, type ResealedKind, rotateSecrets, storedSecrets } from "./keys/secrets.ts";
export {
  KeyChangeRefused,
  openSigningKeys,
  type Revocation,
  revokeSigningKey,
  rotateSigningKeys,
} from "./keys/signing-keys.ts";
export { openOperator } from "./open-operator.ts";
export {
  type OpenApiFormat,
  type OpenApiVersion,
  openApiFormats,
  openApiVersions,
  readOpenApi,
} from "./openapi-files.ts";
export type { Peers } from "./peers.ts";
export { type RunningServer, startServer } from "./server.ts";
export { LiveSettings } from "./settings/live-settings.ts";
export { drainDelayOf, Probing } from "./start/probing.ts";
export { tlsProblems } from "./tls/files.ts";
