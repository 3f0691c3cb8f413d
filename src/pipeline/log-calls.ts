/** One log line for every call: its method, its caller, its code and how long it took. */
import { ConnectError } from "@connectrpc/connect";
import { knownCallerOf } from "../auth/index.ts";
import { tryChain } from "../awaitable.ts";
import type { CallInterceptor, CallRequest } from "../call/index.ts";
import { reasonOf } from "../errors.ts";
import { type Logger, logCall } from "../log.ts";
import { nameOf } from "./method-name.ts";

/** Creates the interceptor. */
export function logCalls(log: Logger): CallInterceptor {
  const write = ({ method, contextValues, header }: CallRequest, startMs: number, code: string) =>
    logCall(log, {
      method: nameOf(method),
      code,
      ms: performance.now() - startMs,
      caller: knownCallerOf(contextValues)?.subject,
      requestId: header.get("x-request-id"),
    });
  return (next) => (request) => {
    const startMs = performance.now();
    return tryChain(
      () => next(request),
      (response) => {
        write(request, startMs, "OK");
        return response;
      },
      (error) => {
        write(request, startMs, error instanceof ConnectError ? reasonOf(error.code) : "INTERNAL");
        throw error;
      },
    );
  };
}
