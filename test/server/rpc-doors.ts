/** The doors for RPC around services of a test's own, put together as `src/server/server.ts` does. */
import { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { createRegistry, type DescService } from "@bufbuild/protobuf";

import type { Layer } from "../../src/layer.ts";
import {
  type ConnectHandlerOptions,
  type ConnectLimits,
  createConnectHandler,
  defaultConnectLimits,
} from "../../src/server/connect-adapter.ts";
import { createConnectLane } from "../../src/server/connect-unary.ts";
import { createGrpcLane } from "../../src/server/grpc-unary.ts";
import { createLocalTransport, type ServiceImplementation } from "../../src/server/local-transport.ts";
import type { OnePortOptions, PortRequest } from "../../src/server/one-port.ts";
import { unaryMethods } from "../../src/server/unary-methods.ts";

/** What the doors are made from. */
export interface RpcDoorsOptions
  extends Pick<Partial<ConnectHandlerOptions>, "mount" | "contextValues" | "describeError"> {
  readonly implementations: readonly ServiceImplementation[];
  /** Those whose methods are served through the transport, if they are not the implemented ones. */
  readonly services?: readonly DescService[];
  readonly layers?: readonly Layer[];
  readonly hasFastLane: boolean;
  readonly limits?: Partial<ConnectLimits>;
  /** Told the path of whatever the fast lane does not answer, and whether it had begun to read it. */
  onFullDoor?(path: string, isHandedBack: boolean): void;
  onError(error: unknown): void;
}

/** The two callbacks of a port. */
export function rpcDoors(
  options: RpcDoorsOptions,
): Pick<OnePortOptions, "onRequest"> & Required<Pick<OnePortOptions, "onStream">> {
  const { implementations, hasFastLane, onError } = options;
  const services = options.services ?? implementations.map(({ service }) => service);
  const transport = createLocalTransport(implementations, options.layers ?? []);
  const registry = createRegistry(...services.map(({ file }) => file));
  const limits = { ...defaultConnectLimits, ...options.limits };

  const connect = createConnectHandler({
    ...options,
    transport,
    services,
    registry,
    limits,
    refusalBody: (httpStatus) => JSON.stringify({ code: httpStatus }),
  });
  const handBack = (...[path, request, response, body]: Parameters<typeof connect>) => {
    options.onFullDoor?.(path, true);
    connect(path, request, response, body);
  };
  const lane = {
    transport,
    registry,
    methods: hasFastLane ? unaryMethods(services, registry) : new Map(),
    ...limits,
    describeError: options.describeError ?? (() => {}),
    onError,
  };
  const takeRequest = createConnectLane({
    ...lane,
    handBack: (request, response, body) => handBack(pathOf(request), request, response, body),
  });
  const takeStream = createGrpcLane({
    ...lane,
    answerHeaders: () => ({}),
    handBack(stream, headers, body) {
      const request = new Http2ServerRequest(stream, headers, {}, []);
      handBack(pathOf(request), request, new Http2ServerResponse(stream), body);
    },
  });
  return {
    onRequest(request, response) {
      const path = pathOf(request);
      if (takeRequest(path, request, response)) return;
      options.onFullDoor?.(path, false);
      if (connect(path, request, response)) return;
      response.statusCode = 404;
      response.end();
    },
    onStream: takeStream,
  };
}

function pathOf({ url }: PortRequest): string {
  return (url ?? "").split("?")[0]!;
}
