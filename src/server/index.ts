/**
 * The server room puts the product together: it is the only room, beside the command line, that knows all others.
 *
 * - {@link startServer} builds every part in order and takes calls until it is stopped; then it finishes what it accepted.
 * - The pipeline (`pipeline.ts`) is the whole policy, in one list.
 * - One port speaks every protocol (`one-port.ts`); whatever the protocol, a call ends up at the same in-process transport
 *   (`local-transport.ts`) and from there in the same handlers.
 *
 * No resource, no SQL and no HTTP mapping is described here.
 */
export { type AuditRecord, readAudit } from "./audit-log.ts";
export {
  type Installation,
  install,
  RotationRefused,
  readInstallation,
  recoverAdministrator,
  refreshBuiltIns,
  rotateSigningKeys,
} from "./installation.ts";
export { type Operator, type OperatorCall, openOperator } from "./operator.ts";
export { createMirror, type Mirror, type TagState } from "./registry-mirror.ts";
export { type RunningServer, startServer } from "./server.ts";
export { StartFailure } from "./start-failure.ts";
