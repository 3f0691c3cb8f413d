/** The doors for RPC around services of a test's own. */
import { createRegistry, type DescService } from "@bufbuild/protobuf";
import type { Layer } from "../../src/layer.ts";
import type { WholeRequest, WholeResponse } from "../../src/rest/index.ts";
import { createLocalTransport, type ServiceImplementation } from "../../src/server/local-transport.ts";
import type { OnePortOptions } from "../../src/server/one-port.ts";
import { createRpcDoors, type RpcDoorsOptions as Options, pathOf } from "../../src/server/rpc-doors.ts";

/** What the doors are made from. */
export interface RpcDoorsOptions
  extends Pick<Options, "mount" | "contextValues" | "describeError" | "hasFastLane" | "limits" | "onFullDoor"> {
  readonly implementations: readonly ServiceImplementation[];
  /** Those whose methods are served through the transport, if they are not the implemented ones. */
  readonly services?: readonly DescService[];
  readonly layers?: readonly Layer[];
  /** Told the path of a request that was taken whole. */
  onWhole?(path: string): void;
  onError(error: unknown): void;
}

/** The callbacks of a port. */
export function rpcDoors(options: RpcDoorsOptions): Pick<OnePortOptions, "onRequest" | "onPlainRequest" | "takePlain"> {
  const services = options.services ?? options.implementations.map(({ service }) => service);
  const { takeRequest, takeWhole, takePlain } = createRpcDoors({
    ...options,
    services,
    transport: createLocalTransport(options.implementations, options.layers ?? []),
    registry: createRegistry(...services.map(({ file }) => file)),
    answerHeaders: () => ({}),
    refusalBody: (httpStatus) => JSON.stringify({ code: httpStatus }),
  });
  const onPlainRequest = (request: WholeRequest, response: WholeResponse) => {
    const path = pathOf(request);
    if (!takeWhole(path, request, response)) response.handBack();
    else if (!response.destroyed) options.onWhole?.(path);
  };
  return {
    onRequest(request, response) {
      if (takeRequest(pathOf(request), request, response)) return;
      response.statusCode = 404;
      response.end();
    },
    ...(options.hasFastLane
      ? {
          onPlainRequest,
          takePlain: (fields) => takePlain(fields, onPlainRequest),
        }
      : {}),
  };
}
