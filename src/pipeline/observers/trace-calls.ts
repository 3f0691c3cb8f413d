/** The spans of calls, their steps and their statements. They are made when a call has ended. */
import { Code, ConnectError, createContextKey, type UnaryRequest } from "@connectrpc/connect";
import { knownCallerNameOf } from "../../auth/index.ts";
import { tryChain } from "../../awaitable.ts";
import {
  type CallInterceptor,
  type CallRequest,
  type CallTimes,
  type RanStatement,
  timesOf,
} from "../../call/index.ts";
import type { Contract } from "../../contract/index.ts";
import { reasonOf } from "../../errors.ts";
import { baggageMembers, type TraceContext, unsampled } from "../../trace-context.ts";
import type { Span, Tracing } from "../../tracing/index.ts";
import { isUid } from "../../uid.ts";
import { nameOf } from "../method-name.ts";
import { callersError } from "../store-errors.ts";
import { stepsOf } from "./call-steps.ts";

/** What {@link traceCalls} needs. */
export interface TraceCallsOptions {
  readonly contract: Contract;
  readonly tracing: Tracing;
  /** `sqlite` or `postgresql`. */
  readonly databaseName: string;
}

/** Whether a call is recorded, once that is known. */
interface Choice {
  readonly span: Span | undefined;
}

const choiceKey = createContextKey<Choice | undefined>(undefined);

/** The codes that are a fault of the server (OpenTelemetry's conventions for gRPC). */
const faults = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/**
 * Creates the interceptors: `record` is an observer that records a call when it ends, `choose` follows authentication
 * and decides whether to. A call that does not get there is decided about at its end.
 */
export function traceCalls({ contract, tracing, databaseName }: TraceCallsOptions): {
  readonly record: CallInterceptor;
  readonly choose: CallInterceptor;
} {
  function choose({ method, contextValues }: CallRequest, times: CallTimes): Choice {
    const parent = times.trace;
    const isChosen = tracing.chooses(parent, knownCallerNameOf(contextValues));
    const start = { name: nameOf(method), kind: "server", beganMs: times.beganMs } as const;
    const choice = { span: isChosen ? tracing.begin(start, parent) : undefined };
    times.trace = choice.span?.context ?? (parent && unsampled(parent));
    if (isChosen) times.keepStatements();
    contextValues.set(choiceKey, choice);
    return choice;
  }

  function end(request: CallRequest, error: ConnectError | undefined): void {
    const times = timesOf(request);
    if (times === undefined) return;
    const { span } = request.contextValues.get(choiceKey) ?? choose(request, times);
    if (span === undefined) return;
    const endedMs = performance.now();
    addSteps(span.context, times, contract.of(request.method).mutates, endedMs);
    const isFault = error !== undefined && faults.has(error.code);
    span.end(endedMs, attributesOf(request as UnaryRequest, times, error), isFault ? reasonOf(error.code) : undefined);
  }

  function addSteps(call: TraceContext, times: CallTimes, isChange: boolean, callEndedMs: number): void {
    for (const { name, beganMs, endedMs } of stepsOf(times, isChange, callEndedMs)) {
      const step = tracing.begin({ name, kind: "internal", beganMs }, call);
      if (name === "handler") for (const statement of times.kept ?? []) addStatement(step.context, statement);
      step.end(endedMs, {});
    }
  }

  function addStatement(step: TraceContext, { text, beganMs, endedMs }: RanStatement): void {
    const operation = /^\w+/.exec(text)?.[0].toUpperCase() ?? "";
    const table = /\b(?:from|into|update) "?(\w+)/.exec(text)?.[1];
    const name = table === undefined ? operation : `${operation} ${table}`;
    tracing.begin({ name, kind: "client", beganMs }, step).end(endedMs, {
      "db.system.name": databaseName,
      "db.operation.name": operation,
      ...(table !== undefined && { "db.collection.name": table }),
      "db.query.text": text,
    });
  }

  function attributesOf(
    { method, message, header, contextValues }: UnaryRequest,
    times: CallTimes,
    error: ConnectError | undefined,
  ): Record<string, string | number> {
    const { authorization } = contract.of(method);
    const caller = knownCallerNameOf(contextValues);
    const requestId = header.get("x-request-id");
    const scope = authorization.kind === "scoped" && caller !== undefined ? authorization.scope.uidOf(message) : "";
    const code = error === undefined ? "OK" : reasonOf(error.code);
    return {
      "rpc.method": nameOf(method),
      "rpc.response.status_code": code,
      ...(error !== undefined && { "error.type": code }),
      ...(caller !== undefined && { "user.id": caller }),
      ...(requestId !== null && { "platform.request_id": requestId }),
      ...(isUid(scope) && { "platform.scope": scope }),
      "platform.statements": times.statements,
      ...Object.fromEntries(
        (times.trace === undefined ? [] : baggageMembers(times.trace)).map(([name, value]) => [
          `baggage.${name}`,
          value,
        ]),
      ),
    };
  }

  return {
    record: (next) => (request) =>
      tryChain(
        () => next(request),
        (response) => {
          end(request, undefined);
          return response;
        },
        (error) => {
          end(request, error instanceof ConnectError ? error : callersError(error));
          throw error;
        },
      ),
    choose: (next) => (request) => {
      const times = timesOf(request);
      if (times !== undefined) choose(request, times);
      return next(request);
    },
  };
}
