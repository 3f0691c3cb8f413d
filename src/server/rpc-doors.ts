/**
 * The doors for RPC: gRPC, gRPC-Web and Connect. A plain unary call goes through the fast lane of its protocol, everything else through the full
 * door, Connect's own protocol handlers.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { WholeRequest, WholeResponse } from "../rest/index.ts";
import { type ConnectHandlerOptions, createConnectHandler, defaultConnectLimits, rpcPath } from "./connect-adapter.ts";
import { createConnectLane } from "./connect-unary.ts";
import { createGrpcLane } from "./grpc-unary.ts";
import type { ServeWhole } from "./http2-stream.ts";
import type { PortRequest, PortResponse } from "./one-port.ts";
import type { PlainFields } from "./plain-fields.ts";
import { unaryMethods } from "./unary-methods.ts";

/** What the doors are made from. */
export interface RpcDoorsOptions extends ConnectHandlerOptions {
  readonly hasFastLane: boolean;
  /** Whether the bearer token in a header is known to be valid; absent: all are. */
  isVerified?(headers: IncomingHttpHeaders): boolean;
  /** Told the path of whatever no fast lane answers, and whether one had begun to read it. */
  onFullDoor?(path: string, isHandedBack: boolean): void;
}

/** Three ways in; each is false for what is no RPC, untouched. */
export interface RpcDoors {
  /** @param path that of the request, without its query. */
  takeRequest(path: string, request: PortRequest, response: PortResponse): boolean;
  /** One that has come whole. What the fast lane does not take is handed back. */
  takeWhole(path: string, request: WholeRequest, response: WholeResponse): boolean;
  /** Who answers a request once it is whole: the lane of gRPC, or `others`; undefined for one that may come piece by piece. */
  takePlain(fields: PlainFields, others: ServeWhole): ServeWhole | undefined;
}

/** Creates the doors. */
export function createRpcDoors(options: RpcDoorsOptions): RpcDoors {
  const { services, registry, hasFastLane } = options;
  const connect = createConnectHandler(options);

  function takeByFullDoor(
    path: string,
    request: PortRequest,
    response: PortResponse,
    body?: AsyncIterable<Uint8Array>,
  ): boolean {
    options.onFullDoor?.(path, body !== undefined);
    return connect(path, request, response, body);
  }

  const lane = {
    ...options,
    ...defaultConnectLimits,
    ...options.limits,
    watchBody: options.watchBody,
    methods: hasFastLane ? unaryMethods(services, registry) : new Map(),
    describeError: options.describeError ?? (() => {}),
    onError: options.onError ?? (() => {}),
  };
  const connectLane = createConnectLane({
    ...lane,
    handBack: (request, response, body) => takeByFullDoor(pathOf(request), request, response, body),
  });
  const grpcLane = createGrpcLane(lane);
  return {
    takeRequest: (path, request, response) =>
      connectLane.take(path, request, response) || takeByFullDoor(path, request, response),
    takeWhole(path, request, response) {
      if (connectLane.takeWhole(path, request, response)) return true;
      if (!rpcPath.test(path)) return false;
      response.handBack();
      return true;
    },
    takePlain: (fields, others) => grpcLane(fields) ?? (isStreaming(fields) ? undefined : others),
  };
}

/** The path of a request, without its query. */
export function pathOf(request: Pick<PortRequest, "url">): string {
  const target = request.url ?? "";
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** Whether the content of a request or its answer may come piece by piece: gRPC but for what its lane takes, and Connect's streams. */
function isStreaming({ headers }: PlainFields): boolean {
  return /^application\/(?:grpc|connect\+)/.test(headers["content-type"] ?? "");
}
