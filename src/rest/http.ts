/** The two shapes in which Node hands over a request, and what can be told from a request's headers alone. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Http2ServerRequest, type Http2ServerResponse, constants as http2 } from "node:http2";

/** A request by HTTP/1.1, or by HTTP/2 through the compatibility API. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** A response by HTTP/1.1, or by HTTP/2 through the compatibility API. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** Whether the request came by HTTP/2. */
export function isHttp2(request: HttpRequest): request is Http2ServerRequest {
  return request.httpVersionMajor === 2;
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
  const length = headerOf(request, "content-length");
  if (isHttp2(request)) {
    // Node's types leave this property out of the stream behind a request.
    const { endAfterHeaders } = request.stream as typeof request.stream & { endAfterHeaders: boolean };
    return endAfterHeaders ? 0 : Number(length ?? Number.POSITIVE_INFINITY);
  }
  return headerOf(request, "transfer-encoding") === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY;
}
