/** Counts every call and measures how long it took. */

import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { tryChain } from "../../awaitable.ts";
import { type CallInterceptor, protocolOf } from "../../call/index.ts";

/** Counts calls. `code`: 0 for OK. */
export interface CallCounter {
  begin(): void;
  end(method: DescMethod, protocol: string, code: number, ms: number): void;
}

const ok = 0;

/** Creates the interceptor. It stands outermost, so that it sees calls that are refused, too. */
export function measureCalls(counter: CallCounter): CallInterceptor {
  return (next) => (request) => {
    const startMs = performance.now();
    counter.begin();
    return tryChain(
      () => next(request),
      (response) => {
        counter.end(request.method, protocolOf(request), ok, performance.now() - startMs);
        return response;
      },
      (error) => {
        const code = error instanceof ConnectError ? error.code : Code.Internal;
        counter.end(request.method, protocolOf(request), code, performance.now() - startMs);
        throw error;
      },
    );
  };
}
