/**
 * gRPC, gRPC-Web and Connect (GET included) by Connect's own protocol handlers: everything that does not take the fast
 * path, streams included. It also answers RPC paths that no service has.
 *
 * It replaces Connect's `connectNodeAdapter`, from which it differs in six ways: refusals have bodies; errors of the
 * protocol layer (undecodable message, message too large, unknown compression) pass through `describeError`; an unknown
 * compression is answered with the known ones in the header; time-outs beyond the maximum are shortened instead of
 * refused; failures are reported instead of printed; gRPC-Web has its text form.
 */

import type { IncomingMessage } from "node:http";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { Readable } from "node:stream";
import type { DescMethod, DescService, JsonReadOptions, JsonWriteOptions, Registry } from "@bufbuild/protobuf";
import {
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Awaitable } from "../../awaitable.ts";
import type { LocalTransport } from "../../call/index.ts";
import { unimplemented } from "../../errors.ts";
import { type IncomingBody, unverifiedBytes } from "../../http/index.ts";
import {
  type BufferedRequest,
  type BufferedResponse,
  breakOff,
  Deadline,
  discardBody,
  type HttpRequest,
  type HttpResponse,
  isBuffered,
  isLongUnread,
  type PortRequest,
  type PortResponse,
} from "../../message/index.ts";
import { encodeGrpcMessage, withGrpcMessage } from "../grpc/message.ts";
import { parseGrpcTimeout } from "../grpc/timeout.ts";
import { readMaxBytesOf } from "../unary/fast-path.ts";
import { unaryMethods } from "../unary/methods.ts";
import { forwarding } from "./forwarding.ts";
import { binaryTypeOf, fromBase64, textTypeOf, toBase64 } from "./grpc-web-text.ts";
import { reword } from "./own-errors.ts";
import { readByCodecs } from "./request.ts";

/** What the handler is made from. */
export interface ConnectHandlerOptions {
  /** Calls the methods of `services`: unary and server-streaming ones. */
  readonly transport: LocalTransport;
  readonly services: Iterable<DescService>;
  /** Finds the types of google.protobuf.Any values and of error details. */
  readonly registry: Registry;
  /** Mounts the server's own services, which need no pipeline: health and reflection. */
  mount?(router: ConnectRouter): void;
  readonly limits?: Partial<ConnectLimits>;
  /** The header fields of every answer. May complete those of the request. */
  answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** The values a call starts with. */
  contextValues?(request: HttpRequest, response: HttpResponse): ContextValues;
  /** Whether a method needs no token. Its messages have at most {@link unverifiedBytes}. */
  isOpen?(method: DescMethod): boolean;
  /** Checks the body of a request while it is received; undefined: no check. */
  watchBody?(
    request: PortRequest | BufferedRequest,
    response: PortResponse | BufferedResponse,
    method: DescMethod,
  ): IncomingBody | undefined;
  /**
   * Called for a request that may have several messages, of a method that needs no token. What it returns is called for
   * each of them, and may throw the error that ends the call; undefined: they are not counted.
   */
  watchMessages?(request: PortRequest, response: PortResponse): (() => void) | undefined;
  /**
   * Completes an error in place before it is sent, whatever made it. Called more than once for some. `method`:
   * undefined if unknown.
   */
  describeError?(error: ConnectError, method: DescMethod | undefined): void;
  /** The body, JSON text, of a refusal before any RPC protocol is spoken: 400, 404, 405, 415, 505. */
  refusalBody(httpStatus: number): string;
  /** Reports failures to send an answer, most often because the client has gone. */
  onError?(error: unknown): void;
}

/** Limits of one call. */
export interface ConnectLimits {
  /** Maximum size of a request message in bytes, before and after decompression. */
  readonly readMaxBytes: number;
  /** Maximum size of a response message in bytes. */
  readonly writeMaxBytes: number;
  /** Minimum size of an answer that is compressed for a client that accepts it, in bytes. */
  readonly compressMinBytes: number;
  /** Longer time-outs are shortened to this. At most 99,999,999, the eight digits of a `grpc-timeout`. */
  readonly maxTimeoutMs: number;
}

/** The default limits. */
export const defaultConnectLimits: ConnectLimits = {
  readMaxBytes: 1024 * 1024,
  writeMaxBytes: 64 * 1024 * 1024,
  compressMinBytes: 1024,
  maxTimeoutMs: 24 * 3_600_000,
};

/** The check that is made before the body of a request is read. */
const gateKey = createContextKey<(() => Awaitable<void>) | undefined>(undefined);

/** What counts the messages of a request. */
const countKey = createContextKey<(() => void) | undefined>(undefined);

/** The error of the protocol layer that ended a call. */
const refusalKey = createContextKey<ConnectError | undefined>(undefined);

/** The fields of an answer that name the compressions of the server, in each protocol. */
const acceptFields = ["grpc-accept-encoding", "accept-encoding", "connect-accept-encoding"];

/** Counts the messages of requests that may have several. */
const countMessages: Interceptor = (next) => (request) => {
  const count = request.contextValues.get(countKey);
  if (!request.stream || count === undefined) return next(request);
  return next({ ...request, message: counted(request.message, count) });
};

async function* counted<T>(messages: AsyncIterable<T>, count: () => void): AsyncGenerator<T> {
  for await (const message of messages) {
    count();
    yield message;
  }
}

/**
 * The content type of a refusal. Without the parameter, a Connect client would take the body for an error of the
 * Connect protocol.
 */
const refusalType = "application/json; charset=utf-8";

/** How long a client may go on sending a body that is no longer read. */
const discardMs = 2_000;

/** Has Connect's library read and write JSON as the codecs of the fast path do. */
export function jsonOptionsOf(registry: Registry): Partial<JsonReadOptions & JsonWriteOptions> {
  return { registry, alwaysEmitImplicit: true, ignoreUnknownFields: true };
}

/**
 * Answers a request whose path (without query) is that of an RPC; false for any other. `body`: its content, if some of
 * it has been read.
 */
export type ConnectHandler = (
  path: string,
  request: PortRequest,
  response: PortResponse,
  body?: AsyncIterable<Uint8Array>,
) => boolean;

/** `/package.Service/Method`, whether or not it is served. The package distinguishes it from other paths. */
export const rpcPath = /^\/[a-z]\w*(\.\w+)+\/\w+$/i;

/** Creates the handler. */
export function createConnectHandler(options: ConnectHandlerOptions): ConnectHandler {
  const limits = { ...defaultConnectLimits, ...options.limits };
  const compressions = [compressionGzip, compressionBrotli];
  const readLimits = { ...options, readMaxBytes: limits.readMaxBytes };
  const methods = unaryMethods(options.services, options.registry);
  const describe = (error: unknown, method: DescMethod | undefined) => {
    if (!(error instanceof ConnectError)) return;
    reword(error);
    options.describeError?.(error, method);
  };
  const router = createConnectRouter({
    ...limits,
    acceptCompression: compressions,
    jsonOptions: jsonOptionsOf(options.registry),
    interceptors: [countMessages],
    // The handlers abort a call's signal with its error before they write the error. It is the only moment to reach
    // errors of the protocol layer. A deadline may have aborted the signal already: errors of the gate and of the call
    // are described where they are thrown.
    requestGate: async ({ signal, method, values }) => {
      const onAbort = () => {
        describe(signal.reason, method);
        if (signal.reason instanceof ConnectError) values.set(refusalKey, signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        await values.get(gateKey)?.();
      } catch (error) {
        describe(error, method);
        throw error;
      }
    },
  });
  for (const service of options.services) {
    const isOpen = service.methods.every((method) => options.isOpen?.(method));
    router.service(
      service,
      forwarding(service, options.transport, describe),
      isOpen ? { readMaxBytes: unverifiedBytes } : {},
    );
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
    isText: boolean,
    body?: AsyncIterable<Uint8Array>,
  ) => {
    const deadline = startTimeout(request, limits.maxTimeoutMs);
    if (!("stream" in request)) response.once("finish", () => discardRest(request));
    const watch = options.watchBody?.(request, response, handler.method);
    const values = options.contextValues?.(request, response) ?? createContextValues();
    values.set(gateKey, () => watch?.begin());
    const isCounted = /^(?:client|bidi)_streaming$/.test(handler.method.methodKind);
    if (isCounted && options.isOpen?.(handler.method) !== false)
      values.set(countKey, options.watchMessages?.(request, response));
    const received = body ?? restOf(request, watch);
    const call = {
      ...universalRequestFromNodeRequest(request, response, undefined, values),
      body: isText ? fromBase64(received) : received,
    };
    const method = methods.get(handler.requestPath);
    const reading = { compressions, readMaxBytes: readMaxBytesOf(readLimits, handler.method) };
    const read = method === undefined ? call : readByCodecs(method, call, reading);
    let answer = await handler(read);
    if (deadline?.isPast && handler.method.methodKind === "unary") {
      values.set(gateKey, () => deadline.check());
      answer = await handler(read);
    }
    if (answer.status >= 400 && answer.body === undefined) return refuse(response, answer.status);
    const { metadata } = values.get(refusalKey) ?? {};
    for (const name of acceptFields) if (metadata?.has(name)) answer.header?.set(name, metadata.get(name)!);
    if (isText) answer = inText(answer);
    const isClosing = isLongUnread(request);
    if (isClosing) answer.header?.set("connection", "close");
    const { body: content } = answer;
    const sent = isClosing && content !== undefined ? { ...answer, body: lingering(content, request) } : answer;
    await universalResponseToNodeResponse(withGrpcMessage(sent), response);
  };

  return (path, request, response, body) => {
    const handler = handlers.get(path);
    const binaryType = binaryTypeOf(request.headers["content-type"] ?? "");
    const contentType = binaryType ?? request.headers["content-type"] ?? "";
    if (handler === undefined && (!rpcPath.test(path) || request.method !== "POST")) return false;
    setHeaders(response, options.answerHeaders(request.headers));
    if (handler === undefined) {
      const error = unimplemented(`this server has no method ${path.slice(1)}`, { method: path.slice(1) });
      describe(error, undefined);
      if (/^application\/grpc/.test(contentType)) refuseGrpc(response, request.headers["content-type"]!, error);
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
      if (binaryType !== undefined) request.headers["content-type"] = binaryType;
      serve(handler, request, response, binaryType !== undefined, body).catch((error) => {
        options.onError?.(error);
        breakOff(response);
      });
    }
    return true;
  };
}

/** Sets header fields of a response. */
export function setHeaders(response: Pick<BufferedResponse, "setHeader">, headers: OutgoingHttpHeaders): void {
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
}

/** An answer of gRPC-Web in its text form. */
function inText(answer: UniversalServerResponse): UniversalServerResponse {
  const { header, body } = answer;
  const contentType = header?.get("content-type");
  if (contentType) header?.set("content-type", textTypeOf(contentType));
  return body === undefined ? answer : { ...answer, body: toBase64(body) };
}

/**
 * Discards what is still to come of an answered request, for {@link discardMs}, so that its connection can be used
 * again.
 */
function discardRest(request: IncomingMessage): void {
  if (request.complete) return;
  const giveUp = setTimeout(() => request.socket.destroy(), discardMs);
  request.once("close", () => clearTimeout(giveUp)).resume();
}

/** gRPC and gRPC-Web: the status in the headers, and nothing after them ("Trailers-Only"). */
export function refuseGrpc(response: HttpResponse, contentType: string, error: ConnectError): void {
  const status = new Headers({ "content-type": contentType });
  setTrailerStatus(status, error);
  encodeGrpcMessage(status);
  const header = Object.fromEntries(status);
  if (isBuffered(response)) response.writeHead(200, header).end("", "latin1");
  else send(response, 200, header);
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
 * Has Connect count a time-out from when the request came, and returns the deadline. Connect would refuse a time-out
 * above its maximum; here it is shortened. A malformed one is left for Connect to refuse.
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

/**
 * The rest of a body, each piece checked by its watch. After a refusal the rest is discarded, and the connection stays
 * open.
 */
export async function* restOf(request: Readable, watch: IncomingBody | undefined): AsyncGenerator<Uint8Array> {
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    await watch?.take(piece.length);
    yield piece;
  }
  await watch?.complete();
}

/**
 * An answer that ends once the client has sent the rest of its request, or has had a short time for it. If the
 * connection closed earlier, the answer could be lost.
 */
async function* lingering(body: AsyncIterable<Uint8Array>, request: PortRequest): AsyncGenerator<Uint8Array> {
  yield* body;
  await discardBody(request);
}

/** Whether the request has a valid URL, which Connect's handlers need. */
function isAddressable(request: PortRequest): boolean {
  const authority = "authority" in request ? request.authority : request.headers.host;
  return URL.canParse(request.url ?? "", `http://${authority}`);
}
