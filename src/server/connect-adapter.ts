/**
 * The full door for RPC: gRPC, gRPC-Web and Connect (GET included), by Connect's own protocol handlers. It serves whatever the fast lane
 * hands back, streams among it, and answers for RPC paths that nothing serves.
 *
 * Connect's `connectNodeAdapter` is a loop of ten lines around these handlers. Ours differs in four: refusals have bodies, errors made by
 * the protocol layer (undecodable message, message too large, unknown compression) pass through `describeError`, time-outs beyond the cap
 * are capped instead of refused, and failures are reported instead of printed.
 */
import type { IncomingMessage } from "node:http";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { Readable } from "node:stream";
import type { DescMethod, DescService, JsonReadOptions, JsonWriteOptions, Registry } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { unimplemented } from "../errors.ts";
import type { Eventually } from "../eventually.ts";
import { breakOff, Deadline, discardBody, isLongUnread, type WholeRequest, type WholeResponse } from "../rest/index.ts";
import { forwarding } from "./forwarding.ts";
import { respellGrpcMessage, withGrpcMessage } from "./grpc-message.ts";
import { parseGrpcTimeout } from "./grpc-timeout.ts";
import { type IncomingBody, unverifiedBytes } from "./incoming-bodies.ts";
import { readMaxBytesOf } from "./lane.ts";
import type { LocalTransport } from "./local-transport.ts";
import type { PortRequest, PortResponse } from "./one-port.ts";
import { readByCodecs } from "./rpc-request.ts";
import { unaryMethods } from "./unary-methods.ts";

/** What the door is made from. */
export interface ConnectHandlerOptions {
  /** Calls the methods of `services`: unary and server-streaming ones. */
  readonly transport: LocalTransport;
  readonly services: Iterable<DescService>;
  /** Finds the types of google.protobuf.Any values and of error details. */
  readonly registry: Registry;
  /** Mounts services of the server's own, which need no pipeline: health and reflection. */
  mount?(router: ConnectRouter): void;
  readonly limits?: Partial<ConnectLimits>;
  /** The header fields that every answer has. May complete those of the request. */
  answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** The values a call starts with. */
  contextValues?(request: PortRequest): ContextValues;
  /** Whether a method needs no token: it takes no more than anybody may send. */
  isOpen?(method: DescMethod): boolean;
  /** Who decides about the body of a request while it comes; undefined: nobody. */
  watchBody?(
    request: PortRequest | WholeRequest,
    response: PortResponse | WholeResponse,
    method: DescMethod,
  ): IncomingBody | undefined;
  /** Completes an error in place before it is sent, whoever made it. Called more than once for some. `method`: undefined if unknown. */
  describeError?(error: ConnectError, method: DescMethod | undefined): void;
  /** The body, JSON text, of a refusal before any RPC protocol is spoken: 400, 404, 405, 415, 505. */
  refusalBody(httpStatus: number): string;
  /** Told of failures to send an answer, most often because the client has gone. */
  onError?(error: unknown): void;
}

/** What one call may hold and take. */
export interface ConnectLimits {
  /** Bytes of one message that comes in, compressed or not. */
  readonly readMaxBytes: number;
  /** Bytes of one message that goes out. */
  readonly writeMaxBytes: number;
  /** Bytes from which an answer is compressed for a client that accepts it. */
  readonly compressMinBytes: number;
  /** A longer time-out is shortened to this. At most 99,999,999, the eight digits of a `grpc-timeout`. */
  readonly maxTimeoutMs: number;
}

/** The limits unless told otherwise. */
export const defaultConnectLimits: ConnectLimits = {
  readMaxBytes: 1024 * 1024,
  writeMaxBytes: 64 * 1024 * 1024,
  compressMinBytes: 1024,
  maxTimeoutMs: 24 * 3_600_000,
};

/** What is asked before the body of a request is read. */
const gateKey = createContextKey<(() => Eventually<void>) | undefined>(undefined);

/** The type of a refusal's body. Plain `application/json`, at the address of an RPC, would be an error of Connect's own form. */
const refusalType = "application/json; charset=utf-8";

/** How long a client may go on sending what is not read any more. */
const forgetMs = 2_000;

/** How Connect's library reads and writes JSON here: as the codecs of the fast lane do. */
export function jsonOptionsOf(registry: Registry): Partial<JsonReadOptions & JsonWriteOptions> {
  return { registry, alwaysEmitImplicit: true, ignoreUnknownFields: true };
}

/** Answers a request whose path (without query) is that of an RPC; false for any other. `body`: its bytes, where they have been read. */
export type ConnectHandler = (
  path: string,
  request: PortRequest,
  response: PortResponse,
  body?: AsyncIterable<Uint8Array>,
) => boolean;

/** `/package.Service/Method`, whether or not it is served. The package is what tells it from other paths. */
export const rpcPath = /^\/[a-z]\w*(\.\w+)+\/\w+$/i;

/** Creates the door. */
export function createConnectHandler(options: ConnectHandlerOptions): ConnectHandler {
  const limits = { ...defaultConnectLimits, ...options.limits };
  const compressions = [compressionGzip, compressionBrotli];
  const readLimits = { ...options, readMaxBytes: limits.readMaxBytes };
  const methods = unaryMethods(options.services, options.registry);
  const describe = (error: unknown, method: DescMethod | undefined) => {
    if (!(error instanceof ConnectError)) return;
    blameCaller(error);
    options.describeError?.(error, method);
  };
  const router = createConnectRouter({
    ...limits,
    acceptCompression: compressions,
    jsonOptions: jsonOptionsOf(options.registry),
    // The handlers abort a call's signal with its error before they write the error: the one moment to reach those of the protocol layer.
    requestGate: ({ signal, method, values }) => {
      signal.addEventListener("abort", () => describe(signal.reason, method), { once: true });
      return values.get(gateKey)?.();
    },
  });
  for (const service of options.services) {
    const isOpen = service.methods.every((method) => options.isOpen?.(method));
    router.service(service, forwarding(service, options.transport), isOpen ? { readMaxBytes: unverifiedBytes } : {});
  }
  options.mount?.(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  const refuse = (response: PortResponse, status: number, header: Record<string, string> = {}) => {
    send(response, status, { "content-type": refusalType, ...header }, options.refusalBody(status));
  };

  const serve = async (
    handler: UniversalHandler,
    request: PortRequest,
    response: PortResponse,
    body?: AsyncIterable<Uint8Array>,
  ) => {
    const deadline = startTimeout(request, limits.maxTimeoutMs);
    if (!("stream" in request)) response.once("finish", () => forgetBody(request));
    const watch = options.watchBody?.(request, response, handler.method);
    const values = options.contextValues?.(request) ?? createContextValues();
    values.set(gateKey, () => watch?.begin());
    const call = {
      ...universalRequestFromNodeRequest(request, response, undefined, values),
      body: body ?? restOf(request, watch),
    };
    const method = methods.get(handler.requestPath);
    const reading = { compressions, readMaxBytes: readMaxBytesOf(readLimits, handler.method) };
    const read = method === undefined ? call : readByCodecs(method, call, reading);
    let answer = await handler(read);
    if (deadline?.isPast && handler.method.methodKind === "unary") {
      values.set(gateKey, () => deadline.check());
      answer = await handler(read);
    }
    const isClosing = isLongUnread(request);
    if (isClosing) answer.header?.set("connection", "close");
    const { body: content } = answer;
    const sent = isClosing && content !== undefined ? { ...answer, body: lingering(content, request) } : answer;
    await universalResponseToNodeResponse(withGrpcMessage(sent), response);
  };

  return (path, request, response, body) => {
    const handler = handlers.get(path);
    const contentType = request.headers["content-type"] ?? "";
    if (handler === undefined && (!rpcPath.test(path) || request.method !== "POST")) return false;
    setHeaders(response, options.answerHeaders(request.headers));
    if (handler === undefined) {
      const error = unimplemented(`this server has no method ${path.slice(1)}`);
      describe(error, undefined);
      if (/^application\/grpc/.test(contentType)) refuseGrpc(response, contentType, error);
      else if (/^application\/(json|proto|connect\+)/.test(contentType))
        refuseConnect(response, error, options.registry);
      else refuse(response, 404);
      request.resume();
    } else if (!handler.allowedMethods.includes(request.method ?? "")) {
      refuse(response, 405, { allow: handler.allowedMethods.join(", ") });
    } else if (request.method === "POST" && !handler.supportedContentType(contentType)) {
      refuse(response, 415);
    } else if (handler.method.methodKind === "bidi_streaming" && request.httpVersionMajor < 2) {
      refuse(response, 505, { connection: "close" });
    } else if (!isAddressable(request)) {
      refuse(response, 400);
    } else {
      serve(handler, request, response, body).catch((error) => {
        options.onError?.(error);
        breakOff(response);
      });
    }
    return true;
  };
}

/** Sets header fields of an answer that is written elsewhere. */
export function setHeaders(response: Pick<WholeResponse, "setHeader">, headers: OutgoingHttpHeaders): void {
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
}

/** A message that Connect cannot decode is the caller's fault, though it calls it INTERNAL; what is too large for it is told as everywhere. */
function blameCaller(error: ConnectError): void {
  const isUndecodable = error.code === Code.Internal && /^(parse binary|cannot decode)/.test(error.rawMessage);
  if (isUndecodable) Object.assign(error, { code: Code.InvalidArgument });
  const maxBytes = /larger than configured readMaxBytes (\d+)/.exec(error.rawMessage)?.[1];
  const message = `Resource exhausted: the request message is larger than ${maxBytes} bytes`;
  if (maxBytes !== undefined) Object.assign(error, { rawMessage: message, message });
}

/** What nobody will read of an answered request is thrown away, for a while, so that its connection stays of use. */
function forgetBody(request: IncomingMessage): void {
  if (request.complete) return;
  const giveUp = setTimeout(() => request.socket.destroy(), forgetMs);
  request.once("close", () => clearTimeout(giveUp)).resume();
}

/** gRPC and gRPC-Web: the status in the headers, and nothing after them ("Trailers-Only"). */
export function refuseGrpc(response: PortResponse, contentType: string, error: ConnectError): void {
  const status = new Headers({ "content-type": contentType });
  setTrailerStatus(status, error);
  respellGrpcMessage(status);
  send(response, 200, Object.fromEntries(status));
}

/** Connect: HTTP 404, which its clients read as UNIMPLEMENTED, with the error as JSON. */
function refuseConnect(response: PortResponse, error: ConnectError, registry: Registry): void {
  send(response, 404, { "content-type": "application/json" }, errorToJsonBytes(error, jsonOptionsOf(registry)));
}

function send(
  response: PortResponse,
  status: number,
  header: Record<string, string>,
  body?: string | Uint8Array,
): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(header)) response.setHeader(name, value);
  if (body === undefined) response.end();
  else response.end(body);
}

/**
 * Has Connect count a time-out from when the request came, and gives its end. Connect refuses one above its maximum; a long one is no reason to
 * refuse a call. What is malformed stays for Connect to refuse.
 */
function startTimeout(request: PortRequest, maxTimeoutMs: number): Deadline | undefined {
  const { headers } = request;
  const isGrpc = /^application\/grpc/.test(headers["content-type"] ?? "");
  const name = isGrpc ? "grpc-timeout" : "connect-timeout-ms";
  const text = String(headers[name]);
  const timeoutMs = isGrpc ? parseGrpcTimeout(text) : /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(timeoutMs)) return undefined;
  const deadline = new Deadline(request, Math.min(timeoutMs, maxTimeoutMs));
  const leftMs = Math.max(0, deadline.leftMs());
  headers[name] = isGrpc ? `${leftMs}m` : String(leftMs);
  return deadline;
}

/** What is still to come of a body, as far as its watch lets it come. What is left of a refused one is forgotten, not its connection. */
export async function* restOf(request: Readable, watch: IncomingBody | undefined): AsyncGenerator<Uint8Array> {
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    await watch?.take(piece.length);
    yield piece;
  }
}

/** An answer that ends once the client has sent the rest of its request, or has had a short time for it: on a connection closed before, it may be lost. */
async function* lingering(body: AsyncIterable<Uint8Array>, request: PortRequest): AsyncGenerator<Uint8Array> {
  yield* body;
  await discardBody(request);
}

/** Whether a URL can be made of the request, as Connect's handlers need. */
function isAddressable(request: PortRequest): boolean {
  const authority = "authority" in request ? request.authority : request.headers.host;
  return URL.canParse(request.url ?? "", `http://${authority}`);
}
