/** One log line for every call: its method, its caller, its code and how long it took. Another one if it was slow. */
import { ConnectError, type UnaryRequest } from "@connectrpc/connect";
import { knownCallerOf } from "../../auth/index.ts";
import { tryChain } from "../../awaitable.ts";
import { beginTimes, type CallInterceptor, type CallRequest, type CallTimes } from "../../call/index.ts";
import type { Contract } from "../../contract/index.ts";
import { reasonOf } from "../../errors.ts";
import { type EndedCall, type Logger, logCall, roundMs } from "../../log.ts";
import { readTraceContext } from "../../trace-context.ts";
import { isUid } from "../../uid.ts";
import { nameOf } from "../method-name.ts";
import { stepsOf } from "./call-steps.ts";

/** What {@link logCalls} needs. */
export interface LogCallsOptions {
  readonly contract: Contract;
  readonly log: Logger;
  /** How long a call may take before it is logged as slow; 0: none is. */
  readonly slowCallMs: number;
  /** Names of the members of `baggage` that calls pass on. */
  readonly baggage: readonly string[];
}

/** Creates the interceptor. It begins to measure the call. */
export function logCalls(options: LogCallsOptions): CallInterceptor {
  const { contract, log, baggage } = options;
  function write(request: CallRequest, times: CallTimes, code: string): void {
    const { method, contextValues, header } = request;
    const ms = performance.now() - times.beganMs;
    const call: EndedCall = {
      method: nameOf(method),
      code,
      ms,
      caller: knownCallerOf(contextValues)?.subject,
      requestId: header.get("x-request-id"),
      traceId: times.trace?.traceId,
    };
    logCall(log, call);
    const { slowCallMs } = options;
    if (slowCallMs > 0 && ms >= slowCallMs) logSlow(request as UnaryRequest, call, times);
  }

  function logSlow({ method, message }: UnaryRequest, call: EndedCall, times: CallTimes): void {
    const { authorization, mutates } = contract.of(method);
    const scope =
      authorization.kind === "scoped" && call.caller !== undefined ? authorization.scope.uidOf(message) : "";
    const steps = stepsOf(times, mutates, times.beganMs + call.ms);
    log.warn(
      {
        ...call,
        ms: roundMs(call.ms),
        ...(isUid(scope) && { scope }),
        ...Object.fromEntries(steps.map(({ name, beganMs, endedMs }) => [`${name}Ms`, roundMs(endedMs - beganMs)])),
        statements: times.statements,
        statementMs: roundMs(times.statementMs),
        ...(times.turnMs > 0 && { turnMs: roundMs(times.turnMs) }),
      },
      "slow call",
    );
  }

  return (next) => (request) => {
    const times = beginTimes(request.contextValues, readTraceContext(request.header, baggage));
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
