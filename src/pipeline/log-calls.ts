/** One log line for every call: its method, its caller, its code and how long it took. Another one if it was slow. */
import { ConnectError, type UnaryRequest } from "@connectrpc/connect";
import { knownCallerOf } from "../auth/index.ts";
import { tryChain } from "../awaitable.ts";
import { beginTimes, type CallInterceptor, type CallRequest, type CallTimes } from "../call/index.ts";
import type { Contract } from "../contract/index.ts";
import { reasonOf } from "../errors.ts";
import { type EndedCall, type Logger, logCall, roundMs } from "../log.ts";
import { isUid } from "../uid.ts";
import { nameOf } from "./method-name.ts";

/** What {@link logCalls} needs. */
export interface LogCallsOptions {
  readonly contract: Contract;
  readonly log: Logger;
  /** How long a call may take before it is logged as slow; 0: none is. */
  readonly slowCallMs: number;
}

/** Creates the interceptor. It begins to measure the call. */
export function logCalls({ contract, log, slowCallMs }: LogCallsOptions): CallInterceptor {
  function write(request: CallRequest, times: CallTimes, code: string): void {
    const { method, contextValues, header } = request;
    const ms = performance.now() - times.beganMs;
    const call: EndedCall = {
      method: nameOf(method),
      code,
      ms,
      caller: knownCallerOf(contextValues)?.subject,
      requestId: header.get("x-request-id"),
      traceId: undefined,
    };
    logCall(log, call);
    if (slowCallMs > 0 && ms >= slowCallMs) logSlow(request as UnaryRequest, call, times);
  }

  function logSlow({ method, message }: UnaryRequest, call: EndedCall, times: CallTimes): void {
    const { authorization, mutates } = contract.of(method);
    const scope =
      authorization.kind === "scoped" && call.caller !== undefined ? authorization.scope.uidOf(message) : "";
    log.warn(
      {
        ...call,
        ms: roundMs(call.ms),
        ...(isUid(scope) && { scope }),
        ...stepsOf(times, mutates, times.beganMs + call.ms),
        statements: times.statements,
        statementMs: roundMs(times.statementMs),
        ...(times.turnMs > 0 && { turnMs: roundMs(times.turnMs) }),
      },
      "slow call",
    );
  }

  return (next) => (request) => {
    const times = beginTimes(request.contextValues);
    return tryChain(
      () => next(request),
      (response) => {
        write(request, times, "OK");
        return response;
      },
      (error) => {
        write(request, times, error instanceof ConnectError ? reasonOf(error.code) : "INTERNAL");
        throw error;
      },
    );
  };
}

/** How long each step took, up to the one that the call ended in. */
function stepsOf(times: CallTimes, isChange: boolean, endMs: number): Readonly<Record<string, number>> {
  const steps: readonly (readonly [string, number])[] = [
    ["authenticationMs", times.authenticatedMs],
    ["authorizationMs", times.authorizedMs],
    ["validationMs", times.validatedMs],
    ...(isChange
      ? ([
          ["waitMs", times.begunMs],
          ["handlerMs", times.workedMs],
          ["commitMs", endMs],
        ] as const)
      : ([["handlerMs", endMs]] as const)),
  ];
  const lengths: Record<string, number> = {};
  let sinceMs = times.beganMs;
  for (const [name, atMs] of steps) {
    lengths[name] = roundMs((atMs || endMs) - sinceMs);
    if (atMs === 0) break;
    sinceMs = atMs;
  }
  return lengths;
}
