/** The errors that callers see. */
import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorHandler, timesOf } from "../call/index.ts";
import type { Contract } from "../contract/index.ts";
import { completeError } from "../errors.ts";
import { type Logger, logRefusedToken } from "../log.ts";
import { nameOf } from "./method-name.ts";
import { callersError } from "./store-errors.ts";

/** What {@link hideBugs} needs. */
export interface HideBugsOptions {
  readonly contract: Contract;
  readonly log: Logger;
  /** Host part of error domains and resource types. */
  readonly serviceHost: string;
  /** Takes an error that says that the database is unavailable; false for any other. */
  reportOutage?(error: unknown): boolean;
}

/**
 * Completes errors that are made for callers, and translates those of the database. Any other error is a bug: it is
 * logged with its cause and answered with a fixed text.
 */
export function hideBugs({ contract, log, serviceHost, reportOutage }: HideBugsOptions): ErrorHandler {
  return (error, call) => {
    const { method, header } = call;
    const { domain } = contract.of(method);
    const requestId = header.get("x-request-id");
    const trace = timesOf(call)?.trace;
    const request = trace && { id: requestId ?? "", traceId: trace.traceId };
    if (error instanceof ConnectError) {
      if (error.code === Code.Unauthenticated && error.cause !== undefined)
        logRefusedToken(log, nameOf(method), error.cause, requestId);
      return completeError(error, serviceHost, domain, request);
    }
    const described = callersError(error);
    reportOutage?.(error);
    logFault(log, error, described, method.name, requestId);
    return completeError(described, serviceHost, domain, request);
  };
}

/** Logs an error whose cause is hidden from callers: a bug, or damaged data. `described`: the error that they get. */
export function logFault(
  log: Logger,
  error: unknown,
  described: ConnectError,
  method: string,
  requestId: string | null,
): void {
  const isBug = described.code === Code.Internal;
  if (isBug || described.code === Code.DataLoss)
    log.error({ err: error, method, requestId }, isBug ? "bug" : "damaged data");
}
