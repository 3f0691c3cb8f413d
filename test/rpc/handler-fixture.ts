/** The RPC handler with services of a test. */

import { createRegistry, type DescService } from "@bufbuild/protobuf";
import type { CallInterceptor } from "../../src/call/interceptor.ts";
import { createLocalTransport, type ServiceImplementation } from "../../src/call/local-transport.ts";
import type { OnePortOptions } from "../../src/http/index.ts";
import type { BufferedRequest, BufferedResponse } from "../../src/message/index.ts";
import { createRpcHandler, type RpcHandlerOptions as Options, pathOf } from "../../src/rpc/handler.ts";

/** What the handler is made from. */
export interface RpcHandlerOptions
  extends Pick<Options, "mount" | "contextValues" | "describeError" | "fastPath" | "limits" | "onFallBack"> {
  readonly implementations: readonly ServiceImplementation[];
  /** The services that are called through the transport, by default the implemented ones. */
  readonly services?: readonly DescService[];
  readonly layers?: readonly CallInterceptor[];
  /** Called with the path of a buffered request that was answered. */
  onBuffered?(path: string): void;
  onError(error: unknown): void;
}

/** The callbacks of a port. */
export function rpcCallbacks(
  options: RpcHandlerOptions,
): Pick<OnePortOptions, "onRequest" | "onBufferedRequest" | "planFastPath"> {
  const services = options.services ?? options.implementations.map(({ service }) => service);
  const { handle, handleBuffered, planFastPath } = createRpcHandler({
    ...options,
    services,
    transport: createLocalTransport(options.implementations, options.layers ?? []),
    registry: createRegistry(...services.map(({ file }) => file)),
    answerHeaders: () => ({}),
    refusalBody: (httpStatus) => JSON.stringify({ code: httpStatus }),
  });
  const onBufferedRequest = (request: BufferedRequest, response: BufferedResponse) => {
    const path = pathOf(request);
    if (!handleBuffered(path, request, response)) response.fallBack();
    else if (!response.destroyed) options.onBuffered?.(path);
  };
  return {
    onRequest(request, response) {
      if (handle(pathOf(request), request, response)) return;
      response.statusCode = 404;
      response.end();
    },
    ...(options.fastPath
      ? {
          onBufferedRequest,
          planFastPath: (fields) => planFastPath(fields, onBufferedRequest),
        }
      : {}),
  };
}
