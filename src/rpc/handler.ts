/**
 * gRPC, gRPC-Web and Connect. Simple unary calls take the fast path of their protocol. All other calls, and whatever
 * the fast path gives up, go to Connect's own protocol handlers (`connect/adapter.ts`).
 */

import type { IncomingHttpHeaders } from "node:http";
import type { RequestHead, ServeBuffered } from "../http/index.ts";
import type { BufferedRequest, BufferedResponse, PortRequest, PortResponse } from "../message/index.ts";
import { type ConnectHandlerOptions, createConnectHandler, defaultConnectLimits, rpcPath } from "./connect/adapter.ts";
import { createConnectFastPath } from "./connect/unary.ts";
import { createGrpcFastPath } from "./grpc/unary.ts";
import { unaryMethods } from "./unary/methods.ts";

/** What the handler is made from. */
export interface RpcHandlerOptions extends ConnectHandlerOptions {
  /** Whether simple unary calls take the fast path. */
  readonly fastPath: boolean;
  /** Whether the bearer token in a header is known to be valid; absent: all are. */
  isVerified?(headers: IncomingHttpHeaders): boolean;
  /**
   * Reports the path of a request that the fast path does not answer. `isBegun`: the fast path has read some of its
   * body.
   */
  onFallBack?(path: string, isBegun: boolean): void;
}

/** Answers RPCs. Paths are those of requests, without the query. */
export interface RpcHandler {
  /** Answers a request; false for one that is not an RPC, whose body is then unread. */
  handle(path: string, request: PortRequest, response: PortResponse): boolean;
  /** Answers a buffered request, or has it fall back to `handle`; false for one that is not an RPC. */
  handleBuffered(path: string, request: BufferedRequest, response: BufferedResponse): boolean;
  /**
   * Decides by its head how a request is answered once it is buffered: by the fast path of gRPC or by `others`.
   * Undefined for a request that must not be buffered, since it or its answer may be a stream.
   */
  planFastPath(head: RequestHead, others: ServeBuffered): ServeBuffered | undefined;
}

/** Creates the handler. */
export function createRpcHandler(options: RpcHandlerOptions): RpcHandler {
  const { services, registry } = options;
  const connect = createConnectHandler(options);

  function fallBack(
    path: string,
    request: PortRequest,
    response: PortResponse,
    body?: AsyncIterable<Uint8Array>,
  ): boolean {
    options.onFallBack?.(path, body !== undefined);
    return connect(path, request, response, body);
  }

  const fastPath = {
    ...options,
    ...defaultConnectLimits,
    ...options.limits,
    watchBody: options.watchBody,
    methods: options.fastPath ? unaryMethods(services, registry) : new Map(),
    describeError: options.describeError ?? (() => {}),
    onError: options.onError ?? (() => {}),
  };
  const connectFastPath = createConnectFastPath({
    ...fastPath,
    fallBack: (request, response, body) => fallBack(pathOf(request), request, response, body),
  });
  const planGrpc = createGrpcFastPath(fastPath);
  return {
    handle: (path, request, response) =>
      connectFastPath.handle(path, request, response) || fallBack(path, request, response),
    handleBuffered(path, request, response) {
      if (connectFastPath.handleBuffered(path, request, response)) return true;
      if (!rpcPath.test(path)) return false;
      response.fallBack();
      return true;
    },
    planFastPath: (head, others) => planGrpc(head) ?? (mayStream(head) ? undefined : others),
  };
}

/** The path of a request, without its query. */
export function pathOf(request: Pick<PortRequest, "url">): string {
  const target = request.url ?? "";
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/**
 * Whether a request or its answer may be a stream: every call of gRPC that has no fast path, and Connect's streaming
 * calls.
 */
function mayStream({ headers }: RequestHead): boolean {
  return /^application\/(?:grpc|connect\+)/.test(headers["content-type"] ?? "");
}
