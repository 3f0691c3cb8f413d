/** The forms of requests and responses, and what follows from their header fields alone. */
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeader,
  OutgoingHttpHeaders,
  ServerResponse,
} from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request with Node's objects (HTTP/1.1, or HTTP/2 by the compatibility API), or a buffered one. */
export type HttpRequest = PortRequest | BufferedRequest;

/** A request with Node's objects, whose body is still to be read. */
export type PortRequest = (IncomingMessage | Http2ServerRequest) & Arrival;

/** The time when a request came. */
export interface Arrival {
  /** When its first byte (HTTP/2: its header list) came, by `performance.now()`; absent: now. */
  startedMs?: number;
}

/** The response to an {@link HttpRequest}. */
export type HttpResponse = PortResponse | BufferedResponse;

/** The response to a {@link PortRequest}. It may be sent piece by piece. */
export type PortResponse = ServerResponse | Http2ServerResponse;

/** A request of which all bytes have been received, without Node's objects. Its fields have the names of Node's. */
export interface BufferedRequest {
  readonly httpVersionMajor: 1 | 2;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly complete: true;
  readonly bufferedBody: Buffer;
  /** As {@link Arrival.startedMs}. */
  readonly startedMs?: number;
}

/** The response to a {@link BufferedRequest}. It is sent in one piece. */
export interface BufferedResponse {
  readonly req: BufferedRequest;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  /** What it is sent over: see `addressOf` and `clientCertificateOf` of `http`. */
  readonly connection: object;
  getHeader(name: string): OutgoingHttpHeader | undefined;
  setHeader(name: string, value: OutgoingHttpHeader): void;
  writeHead(status: number, headers: OutgoingHttpHeaders): this;
  end(content: string | Uint8Array, encoding: "latin1" | "utf8"): void;
  /** The listener is called once: when the client has gone, or the response is sent. */
  once(event: "close", listener: () => void): void;
  destroy(): void;
  /** Has the request answered with Node's objects instead. Nothing may have been sent. */
  fallBack(): void;
}

/** Whether a response is sent in one piece. */
export function isBuffered(response: HttpResponse): response is BufferedResponse {
  return "fallBack" in response;
}

/** Whether the request came by HTTP/2. */
export function isHttp2(request: HttpRequest): request is Http2ServerRequest {
  return "stream" in request;
}

// A closed HTTP/2 response no longer knows its request, so these look at the response alone.

/** Whether nothing can be sent any more: the answer is complete, or the client has gone. */
export function isOver(response: HttpResponse): boolean {
  return response.writableEnded || isGone(response);
}

/** Whether the client has gone. */
export function isGone(response: HttpResponse): boolean {
  return "stream" in response ? response.stream.destroyed || response.stream.closed : response.destroyed;
}

/** Calls `notify` when the client disconnects before its response is complete. */
export function onGone(response: HttpResponse, notify: () => void): void {
  if (isGone(response)) notify();
  response.once("close", () => {
    if (!response.writableEnded) notify();
  });
}

/** The error code INTERNAL_ERROR, RFC 9113 section 7. Not every runtime with Node's other modules has `node:http2`. */
const internalError = 2;

/** Ends a response in a way that shows it to be incomplete. */
export function breakOff(response: HttpResponse): void {
  if ("stream" in response) {
    response.stream.close(internalError);
  } else {
    response.destroy();
  }
}

/** A header that may be sent once; several are joined by commas. */
export function headerOf(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** The length of the body as declared; Infinity when it is not known beforehand. */
export function declaredLength(request: HttpRequest): number {
  if ("bufferedBody" in request) return request.bufferedBody.length;
  const length = headerOf(request, "content-length");
  if (isHttp2(request)) {
    // Node's types leave this property out of the stream behind a request.
    const { endAfterHeaders } = request.stream as typeof request.stream & { endAfterHeaders: boolean };
    return endAfterHeaders ? 0 : Number(length ?? Number.POSITIVE_INFINITY);
  }
  return headerOf(request, "transfer-encoding") === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY;
}
