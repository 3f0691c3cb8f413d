/** The shapes in which a request is handed over, and what can be told from its headers alone. */
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeader,
  OutgoingHttpHeaders,
  ServerResponse,
} from "node:http";
import { type Http2ServerRequest, type Http2ServerResponse, constants as http2 } from "node:http2";

/** A request by HTTP/1.1, by HTTP/2 through the compatibility API, or one that a host has read whole by itself. */
export type HttpRequest = StreamedRequest | WholeRequest;

/** A request whose body is still to be read. */
export type StreamedRequest = (IncomingMessage | Http2ServerRequest) & Arrival;

/** When a request came. */
export interface Arrival {
  /** When its first byte came, or its headers, on the clock of `performance.now()`; absent: just now. */
  startedMs?: number;
}

/** The response to an {@link HttpRequest}. */
export type HttpResponse = StreamedResponse | WholeResponse;

/** A response that may be sent piece by piece. */
export type StreamedResponse = ServerResponse | Http2ServerResponse;

/** A request that was there with all its bytes, without Node's objects for it. Fields are named as Node's are. */
export interface WholeRequest {
  readonly httpVersionMajor: 1 | 2;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly complete: true;
  readonly wholeBody: Buffer;
  /** As {@link Arrival.startedMs}. */
  readonly startedMs?: number;
}

/** The response to a {@link WholeRequest}, which is sent in one piece. */
export interface WholeResponse {
  readonly req: WholeRequest;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  getHeader(name: string): OutgoingHttpHeader | undefined;
  setHeader(name: string, value: OutgoingHttpHeader): void;
  writeHead(status: number, headers: OutgoingHttpHeaders): this;
  end(content: string | Uint8Array, encoding: "latin1" | "utf8"): void;
  /** Tells once that the client has gone before its answer. */
  once(event: "close", listener: () => void): void;
  destroy(): void;
  /** Has the request served in another way, with Node's objects for it. Nothing may have been sent. */
  handBack(): void;
}

/** Whether a response is sent in one piece. */
export function isWhole(response: HttpResponse): response is WholeResponse {
  return "handBack" in response;
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

/** Ends a response in a way that shows it to be incomplete. */
export function breakOff(response: HttpResponse): void {
  if ("stream" in response) {
    response.stream.close(http2.NGHTTP2_INTERNAL_ERROR);
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
  if ("wholeBody" in request) return request.wholeBody.length;
  const length = headerOf(request, "content-length");
  if (isHttp2(request)) {
    // Node's types leave this property out of the stream behind a request.
    const { endAfterHeaders } = request.stream as typeof request.stream & { endAfterHeaders: boolean };
    return endAfterHeaders ? 0 : Number(length ?? Number.POSITIVE_INFINITY);
  }
  return headerOf(request, "transfer-encoding") === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY;
}
