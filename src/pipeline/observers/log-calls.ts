/**
 * What is kept of every call that has ended: a count, and one log line with its method, its caller, its code and how
 * long it took. Another line if it was slow.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryRequest } from "@connectrpc/connect";
import { knownCallerNameOf } from "../../auth/index.ts";
import type { Awaitable } from "../../awaitable.ts";
import {
  beginTimes,
  type CallInterceptor,
  type CallRequest,
  type CallResponse,
  type CallTimes,
  protocolOf,
} from "../../call/index.ts";
import type { Contract } from "../../contract/index.ts";
import { reasonOf } from "../../errors.ts";
import { type EndedCall, type Logger, logCall, roundMs } from "../../log.ts";
import { readTraceContext } from "../../trace-context.ts";
import { isUid } from "../../uid.ts";
import { nameOf } from "../method-name.ts";
import { stepsOf } from "./call-steps.ts";

/** Counts calls. `method`: that of the contract, or the name of another. `code`: 0 for OK. */
export interface CallCounter {
  begin(): void;
  end(method: DescMethod | string, protocol: string, code: number, ms: number): void;
}

const ok = 0;

/** What {@link logCalls} needs. */
export interface LogCallsOptions {
  readonly contract: Contract;
  readonly log: Logger;
  /** How long a call may take before it is logged as slow; 0: none is. */
  readonly slowCallMs: number;
  /** Names of the members of `baggage` that calls pass on. */
  readonly baggage: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Counts every call. Absent: nobody asks for the counts. */
  readonly callCounter?: CallCounter | undefined;
}

/** Creates the interceptor. It begins to measure the call. */
export function logCalls(options: LogCallsOptions): CallInterceptor {
  const { contract, log, baggage, callCounter, now } = options;
  function write(request: CallRequest, times: CallTimes, code: number): void {
    const { method, contextValues, header } = request;
    const ms = performance.now() - times.beganMs;
    callCounter?.end(method, protocolOf(request), code, ms);
    const call: EndedCall = {
      method: nameOf(method),
      code: code === ok ? "OK" : reasonOf(code),
      ms,
      caller: knownCallerNameOf(contextValues),
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

  function succeeded(response: CallResponse, request: CallRequest, times: CallTimes): CallResponse {
    write(request, times, ok);
    return response;
  }

  function failed(error: unknown, request: CallRequest, times: CallTimes): unknown {
    write(request, times, error instanceof ConnectError ? error.code : Code.Internal);
    return error;
  }

  return (next) => (request) => {
    callCounter?.begin();
    const times = beginTimes(request, readTraceContext(request.header, baggage), now());
    let response: Awaitable<CallResponse>;
    try {
      response = next(request);
    } catch (error) {
      throw failed(error, request, times);
    }
    if (!(response instanceof Promise)) return succeeded(response, request, times);
    return response.then(
      (response) => succeeded(response, request, times),
      (error) => Promise.reject(failed(error, request, times)),
    );
  };
}
